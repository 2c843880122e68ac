/** The tenant of a call that names it beside its request: header, or metadata on gRPC (C-53). */
import type { Message } from "@bufbuild/protobuf";
import { connectError } from "./errors.ts";

/** Request header that names a tenant, for callers whose requests are made by something that knows of none. */
export const TENANT_HEADER = "a2a-tenant";

/** Puts the header's tenant into a request that names none. Throws INVALID_ARGUMENT where both name one, and not the same. */
export function applyTenant(request: Message, headers: Headers): void {
  const named = headers.get(TENANT_HEADER);
  if (named === null || named === "" || !hasTenant(request)) return;
  if (request.tenant === "") request.tenant = named;
  else if (request.tenant !== named) {
    const description = `is not the tenant of the header ${TENANT_HEADER}; name it once, or the same`;
    throw connectError("INVALID_ARGUMENT", `tenant: ${description}`, { violations: [{ field: "tenant", description }] });
  }
}

function hasTenant(request: Message): request is Message & { tenant: string } {
  return "tenant" in request && typeof request.tenant === "string";
}
