/** What is wrong with a request, field by field, and the checks that many requests share. */
import { invalidArgument, TaskError, type Violation } from "../core/errors.ts";
import { MAX_ID } from "../rpc/field-bounds.ts";
import type { ServiceOptions } from "./options.ts";

/** Violations beyond this many are not collected. */
const MAX_VIOLATIONS = 100;

/** Collects what is wrong, then throws it all at once. */
export class Violations {
  readonly #found: Violation[] = [];

  add(field: string, description: string): void {
    if (this.#found.length < MAX_VIOLATIONS) this.#found.push({ field, description });
  }

  throwIfAny(): void {
    const [first, ...more] = this.#found;
    if (first !== undefined) throw invalidArgument(first, ...more);
  }
}

/** Routes that begin with one of these mean something else (C-53). */
const NO_TENANTS: ReadonlySet<string> = new Set(["tasks", ".well-known"]);

/** Where tenants are off, naming one is bad input; where they are on, an unknown one is not found (C-53). */
export function checkTenant(bad: Violations, tenant: string, { tenants }: ServiceOptions): void {
  if (tenant === "") return;
  if (tenants === undefined) bad.add("tenant", "this server has no tenants: leave it out");
  else if (NO_TENANTS.has(tenant) || (tenants !== "any" && !tenants.includes(tenant))) {
    throw tenantNotFound(tenant);
  }
  checkId(bad, "tenant", tenant);
}

/** The same for a tenant that there is not and for one that the caller may not name. */
export function tenantNotFound(tenant: string): TaskError {
  return new TaskError("TENANT_NOT_FOUND", "no such tenant", { metadata: { tenant: tenant.slice(0, MAX_ID) } });
}

/** An id that a caller may choose is not longer than it may be. */
export function checkId(bad: Violations, field: string, id: string): void {
  if (id.length > MAX_ID) bad.add(field, `is ${id.length} characters long; at most ${MAX_ID} are taken`);
}

/** A length of history is not negative. */
export function checkHistoryLength(bad: Violations, field: string, historyLength: number | undefined): void {
  if (historyLength !== undefined && historyLength < 0) bad.add(field, `is ${historyLength}; right is 0 or more`);
}
