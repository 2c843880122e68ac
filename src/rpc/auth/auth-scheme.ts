/** Ways to authenticate, and several of them as alternatives. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SecuritySchemeSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Authenticate, CallOrigin, Challenge, Principal } from "./authenticate.ts";

/** A scheme as the agent card declares it. */
export type SchemeDeclaration = MessageInitShape<typeof SecuritySchemeSchema>;

/** Credentials that were brought and are not good. */
export interface Refusal {
  /** What a person reads. Never the credentials. */
  readonly refused: string;
}

/** Who credentials stand for, or why for nobody. */
export type Judgement = Principal | Refusal;

/** One way to authenticate. */
export interface AuthScheme {
  /** What the card says of it, by names: each is enough by itself. */
  readonly declared: Readonly<Record<string, SchemeDeclaration>>;
  /** What to bring, in a few words. */
  readonly wants: string;
  /** `WWW-Authenticate` for calls that bring nothing, or something that was refused. */
  challenge(refused?: string): string;
  /** Judges what a call brings; undefined where it brings nothing of this kind. */
  judge(headers: Headers, origin: CallOrigin): Judgement | undefined | Promise<Judgement | undefined>;
}

/** The name in challenges. */
export const REALM = 'realm="a2a"';

/**
 * Lets in whom any of the schemes lets in. All that a call brings must be good, and stand for one and the same principal; it then has the
 * scopes of each.
 */
export function anyOf(schemes: readonly AuthScheme[]): Authenticate {
  const wanted = `this server wants ${schemes.map(({ wants }) => wants).join(", or ")}`;
  const refuse = (message: string, by?: AuthScheme): Challenge => ({
    challenge: schemes.map((scheme) => scheme.challenge(scheme === by ? message : undefined)),
    message,
  });
  return async (headers, origin) => {
    let known: Principal | undefined;
    for (const scheme of schemes) {
      const judged = await scheme.judge(headers, origin);
      if (judged === undefined) continue;
      if ("refused" in judged) return refuse(judged.refused, scheme);
      if (known !== undefined && known.name !== judged.name) return refuse("the credentials of this call stand for different callers");
      known = known === undefined ? judged : together(known, judged);
    }
    return known ?? refuse(wanted);
  };
}

/** A principal that is vouched for twice. */
function together(one: Principal, other: Principal): Principal {
  const scopes = [...new Set([...(one.scopes ?? []), ...(other.scopes ?? [])])];
  const tenants = one.tenants && other.tenants && [...new Set([...one.tenants, ...other.tenants])];
  return { name: one.name, scopes, claims: { ...other.claims, ...one.claims }, ...(tenants && { tenants }) };
}
