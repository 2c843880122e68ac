/** Who makes a call, and whose tasks it is about: the one place where this is decided. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../core/agent.ts";
import { principalOf } from "../rpc/call-facts.ts";
import type { OwnerOf } from "../rpc/auth/authenticate.ts";
import { tenantNotFound } from "./violations.ts";

/** The caller, whose scope is its tenant and its owner. Throws TENANT_NOT_FOUND for a tenant that is not the caller's, as for one that is not there. */
export function callerOf(context: HandlerContext, tenant: string, ownerOf: OwnerOf): Caller {
  const principal = principalOf(context);
  const { name, scopes = [], claims = {}, tenants } = principal;
  if (tenant !== "" && tenants?.includes(tenant) === false) throw tenantNotFound(tenant);
  return { principal: name, tenant, owner: ownerOf(principal, tenant), scopes, claims };
}
