/** The tenant of a call that names it beside its request: header, or metadata on gRPC (C-53). */
import type { Message } from "@bufbuild/protobuf";
import type { Principal } from "./auth/authenticate.ts";
import { connectError } from "./errors.ts";

/** Request header that names a tenant, for callers whose requests are made by something that knows of none. */
export const TENANT_HEADER = "a2a-tenant";

/**
 * Puts the header's tenant into a request that names none, else the one that its principal is bound to. Throws INVALID_ARGUMENT where both
 * name one, and not the same, and where none is named by a principal of several.
 */
export function applyTenant(request: Message, headers: Headers, { tenants }: Pick<Principal, "tenants">): void {
  if (!hasTenant(request)) return;
  const named = headers.get(TENANT_HEADER) ?? "";
  if (request.tenant === "") request.tenant = named;
  else if (named !== "" && request.tenant !== named)
    throw badTenant(`is not the tenant of the header ${TENANT_HEADER}; name it once, or the same`);
  if (request.tenant !== "" || tenants === undefined) return;
  if (tenants.length !== 1) throw badTenant("is required: this caller has several");
  request.tenant = tenants[0] as string;
}

function badTenant(description: string): unknown {
  return connectError("INVALID_ARGUMENT", `tenant: ${description}`, { violations: [{ field: "tenant", description }] });
}

function hasTenant(request: Message): request is Message & { tenant: string } {
  return "tenant" in request && typeof request.tenant === "string";
}
