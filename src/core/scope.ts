/** Whose tasks a caller may see. */

/** Tenant and owner: part of every index and dedupe key. */
export interface Scope {
  /** Tenant that the call named; empty where tenancy is off. */
  readonly tenant: string;
  /** The principal, or {@link ANONYMOUS}. */
  readonly owner: string;
}

/** The owner of tasks that were sent without credentials, where the server lets such callers in. */
export const ANONYMOUS = "anonymous";

/** A scope as one string. Lengths come first, so that no two scopes share a key. */
export function scopeKey({ tenant, owner }: Scope): string {
  return `${tenant.length}:${tenant}${owner.length}:${owner}`;
}
