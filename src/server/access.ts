/** Who may call a server and what, made of its options; and what its card says of that. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { A2AService, SecuritySchemeSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Log } from "../core/telemetry.ts";
import { anonymous } from "../rpc/auth/anonymous.ts";
import { ApiKeys } from "../rpc/auth/api-keys.ts";
import type { Authenticate, Authorize } from "../rpc/auth/authenticate.ts";
import { anyOf, type AuthScheme, type SchemeDeclaration } from "../rpc/auth/auth-scheme.ts";
import { Bearer, type TokenReader } from "../rpc/auth/bearer.ts";
import { StaticTokens } from "../rpc/auth/bearer-tokens.ts";
import { ClientCertificates } from "../rpc/auth/client-certificates.ts";
import { discoveryUrl, IssuerKeys } from "../rpc/auth/issuer-keys.ts";
import { type JwtIssuer, Jwts } from "../rpc/auth/jwt.ts";
import { operationScopes, type OperationScopes, scopesOf } from "../rpc/auth/operation-scopes.ts";
import type { AuthOptions, IssuerOptions } from "./auth-options.ts";
import { OptionsError, type ServerOptions } from "./options.ts";

/** Who may call. */
export interface Access {
  readonly authenticate: Authenticate;
  readonly authorize: Authorize | undefined;
  /** Whether callers are told apart. */
  readonly isKnown: boolean;
  /** What the card is to declare, by names; undefined where a function judges that only its author knows. */
  readonly declared: Readonly<Record<string, SchemeDeclaration>> | undefined;
  /** Scopes that every operation wants. */
  readonly scopes: readonly string[];
  /** Header fields that carry credentials, beside Authorization. */
  readonly headers: readonly string[];
}

/** Functions in the place of options. */
export interface AccessFunctions {
  readonly authenticate: Authenticate | undefined;
  readonly authorize: Authorize | undefined;
}

/** Makes it all. Keys of issuers are fetched in the background. Throws {@link OptionsError} where options and functions contradict each other. */
export function accessOf({ tokens, auth }: Pick<ServerOptions, "tokens" | "auth">, given: AccessFunctions, log: Log): Access {
  const schemes = schemesOf({ tokens, auth }, log);
  const bearer = schemes.some((scheme) => scheme instanceof Bearer);
  const wanted = Object.keys(auth.scopes).length > 0;
  if (given.authenticate !== undefined && schemes.length > 0)
    throw new OptionsError("auth: serve() has a function authenticate; that, or tokens and auth");
  if (given.authorize !== undefined && wanted)
    throw new OptionsError("auth.scopes: serve() has a function authorize; that, or auth.scopes");
  const isKnown = given.authenticate !== undefined || schemes.length > 0;
  if (wanted && !isKnown) throw new OptionsError("auth.scopes: nobody could have one: callers have no way to say who they are");
  return {
    authenticate: given.authenticate ?? (schemes.length === 0 ? anonymous : anyOf(schemes)),
    authorize: given.authorize ?? (wanted ? operationScopes(auth.scopes, { bearer }) : undefined),
    isKnown,
    declared: schemes.length === 0 ? undefined : (Object.assign({}, ...schemes.map(({ declared }) => declared)) as AuthScheme["declared"]),
    scopes: commonScopes(auth.scopes),
    headers: auth.apiKeys?.in === "header" ? [auth.apiKeys.name] : [],
  };
}

function schemesOf({ tokens, auth }: Pick<ServerOptions, "tokens" | "auth">, log: Log): AuthScheme[] {
  const readers: TokenReader[] = [];
  if (tokens !== undefined) readers.push(new StaticTokens(tokens));
  if (auth.jwt !== undefined) readers.push(new Jwts(auth.jwt.map((issuer, at) => issuerOf(issuer, at, log))));
  const schemes: AuthScheme[] = readers.length === 0 ? [] : [new Bearer(readers)];
  if (auth.apiKeys !== undefined) schemes.push(apiKeysOf(auth.apiKeys));
  if (auth.clientCertificates !== undefined) schemes.push(new ClientCertificates(auth.clientCertificates));
  return schemes;
}

function apiKeysOf({ in: location, name, keys }: NonNullable<AuthOptions["apiKeys"]>): ApiKeys {
  const known = keys.map(({ sha256, expires, ...principal }) => ({
    digest: Buffer.from(sha256, "hex"),
    principal,
    expiresAt: expires === undefined ? undefined : Date.parse(expires),
  }));
  return new ApiKeys({ in: location, name, keys: known });
}

/** What is signed with public keys is taken, unless the options say which; what is signed with a secret where there is one. */
const DEFAULT_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

function issuerOf(options: IssuerOptions, at: number, log: Log): JwtIssuer {
  const { issuer, jwksUrl, jwks, secret, scheme, algorithms } = options;
  const keys = new IssuerKeys({
    issuer,
    jwksUrl,
    jwks,
    secret,
    warn: (error, message) => log.warn({ error }, message),
  });
  void keys.prefetch();
  const discovered = (jwksUrl ?? jwks ?? secret) === undefined;
  const [name, declaration] =
    scheme !== undefined
      ? (["oauth", fromJson(SecuritySchemeSchema, scheme as JsonValue)] as const)
      : discovered
        ? (["oidc", openIdConnect(issuer)] as const)
        : (["jwt", JWT] as const);
  return {
    ...options,
    algorithms: algorithms ?? (secret === undefined ? DEFAULT_ALGORITHMS : ["HS256"]),
    keys,
    declared: { [at === 0 ? name : `${name}${at + 1}`]: declaration },
  };
}

const JWT: SchemeDeclaration = { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer", bearerFormat: "JWT" } } };

function openIdConnect(issuer: string): SchemeDeclaration {
  return { scheme: { case: "openIdConnectSecurityScheme", value: { openIdConnectUrl: discoveryUrl(issuer) } } };
}

/** The scopes that no operation goes without. */
function commonScopes(wanted: OperationScopes): readonly string[] {
  const [first = [], ...rest] = A2AService.methods.map(({ name }) => scopesOf(wanted, name));
  return first.filter((scope) => rest.every((scopes) => scopes.includes(scope)));
}
