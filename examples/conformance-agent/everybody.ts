/** Lets everybody in, and still tells callers apart. For agents that hold nothing worth keeping from anyone. */
import { createHash } from "node:crypto";
import type { Authenticate } from "../../src/index.ts";

const COMMON = { name: "everybody" };

/**
 * A bearer token, whichever it is, names a principal of its own; a call without one is everybody's. An agent has an extended card only for
 * callers who are authenticated, and most suites bring no credentials: they are to find the operation on all the same. An agent with
 * something to guard must not do this, since a token is taken here without having been given out.
 */
export const everybody: Authenticate = (headers) => {
  const token = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  if (token === undefined) return COMMON;
  // Names go into logs; tokens must not.
  return { name: `bearer-${createHash("sha256").update(token).digest("hex").slice(0, 16)}` };
};
