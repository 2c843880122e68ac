/** Who sent a command: in the log, and for the agent. */
import { create } from "@bufbuild/protobuf";
import { type Caller as StoredCaller, CallerSchema } from "../../gen/throughline/v1/log_pb.ts";
import type { Caller } from "../core/agent.ts";
import { ANONYMOUS } from "../core/scope.ts";

/** As it is stored with the command. */
export function storedCaller({ principal, tenant, owner, scopes, claims }: Caller): StoredCaller {
  const stored = create(CallerSchema, { principal, tenant, scopes: [...scopes], owner: owner === principal ? "" : owner });
  if (Object.keys(claims).length > 0) stored.claims = claims;
  return stored;
}

/** As the agent is told. */
export function callerOf(stored: StoredCaller | undefined): Caller {
  const { principal = ANONYMOUS, tenant = "", owner = "", scopes = [], claims = {} } = stored ?? {};
  return { principal, tenant, owner: owner || principal, scopes, claims };
}
