/** Servers that take the tokens of an issuer, and what they make of one. */
import assert from "node:assert/strict";
import type { CardReader } from "../../src/core/agent.ts";
import type { ServerOptionsInput } from "../../src/server/options.ts";
import { type Bed, errorOf, openBed } from "../bindings/bed.ts";
import type { CallFailed } from "../bindings/callers/caller.ts";
import { checkFailure } from "../bindings/failures.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { AUDIENCE, type IdentityProvider } from "./identity-provider.ts";

type JwtInput = NonNullable<NonNullable<ServerOptionsInput["auth"]>["jwt"]>;

/** Keeps who asked for the extended card. */
export class Keeping extends ScenarioAgent {
  readonly readers: CardReader[] = [];

  override async extendedCard(reader: CardReader): Promise<ScenarioAgent["card"]> {
    this.readers.push(reader);
    return this.card;
  }
}

/** A server of such an agent. */
export type KeepingBed = Bed & { readonly agent: Keeping };

/** A server that takes tokens of the issuer. */
export async function bedOf(idp: IdentityProvider, more: object = {}, agent = new Keeping()): Promise<KeepingBed> {
  const jwt = { issuer: idp.issuer, audience: AUDIENCE, ...more } as JwtInput;
  return (await openBed({ auth: { jwt } }, agent)) as KeepingBed;
}

/** The token as a call brings it. */
export const headersOf = (token: string): { headers: { authorization: string } } => ({ headers: { authorization: `Bearer ${token}` } });

/** Who a token stands for to the server; rejects where for nobody. */
export async function whoIs(bed: KeepingBed, token: string): Promise<CardReader> {
  await bed.rest.unary("GetExtendedAgentCard", {}, headersOf(token));
  return bed.agent.readers.pop() ?? assert.fail("nobody asked");
}

/** What a token is refused with. */
export async function refusal(bed: Bed, token: string): Promise<CallFailed> {
  return errorOf(bed.rest.unary("ListTasks", {}, headersOf(token)));
}

/** What is said of a token that is not good. */
export async function whyRefused(bed: Bed, token: string): Promise<string> {
  const { failure } = await refusal(bed, token);
  checkFailure(bed.rest, failure, "UNAUTHENTICATED");
  return failure.message;
}
