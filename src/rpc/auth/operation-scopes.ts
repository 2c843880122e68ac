/** Scopes that operations want. */
import type { Authorize } from "./authenticate.ts";
import { bearerChallenge } from "./bearer.ts";

/** Scopes by the name of the operation (`SendMessage`); those of `*` are for all that have none of their own. */
export type OperationScopes = Readonly<Record<string, readonly string[]>>;

/** How a denial is told. */
export interface OperationScopesOptions {
  /** Callers bring bearer tokens: they are told in `WWW-Authenticate` what theirs lacks (RFC 6750, 3.1). */
  readonly bearer: boolean;
}

/** Wants of a principal all scopes of the operation. */
export function operationScopes(wanted: OperationScopes, { bearer }: OperationScopesOptions): Authorize {
  return (principal, operation) => {
    const scopes = scopesOf(wanted, operation);
    const missing = scopes.filter((scope) => principal.scopes?.includes(scope) !== true);
    if (missing.length === 0) return undefined;
    const message = `${operation} needs the ${missing.length === 1 ? "scope" : "scopes"} ${missing.join(" ")}`;
    if (!bearer) return { message, scopes: missing };
    return { message, scopes: missing, challenge: bearerChallenge({ error: "insufficient_scope", scope: scopes.join(" ") }) };
  };
}

/** The scopes of an operation. */
export function scopesOf(wanted: OperationScopes, operation: string): readonly string[] {
  return (Object.hasOwn(wanted, operation) ? wanted[operation] : wanted["*"]) ?? [];
}
