/** Static bearer tokens: one per principal, from the configuration. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Authenticate } from "./authenticate.ts";

const CHALLENGE = 'Bearer realm="a2a"';

/** Lets in who brings `Authorization: Bearer <token>` with one of the tokens (RFC 6750). Keys of the map are tokens, values principals. */
export function bearerTokens(tokens: Readonly<Record<string, string>>): Authenticate {
  const known = Object.entries(tokens).map(([token, name]) => ({ digest: digest(token), principal: { name } }));
  return (headers) => {
    const header = headers.get("authorization");
    if (header === null) return { challenge: CHALLENGE, message: "this server wants Authorization: Bearer <token>" };
    const token = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1];
    const given = digest(token ?? "");
    // Every token is compared, in constant time: the answer's timing tells nothing.
    let principal: { name: string } | undefined;
    for (const one of known) if (timingSafeEqual(one.digest, given)) ({ principal } = one);
    if (token !== undefined && principal !== undefined) return principal;
    return { challenge: `${CHALLENGE}, error="invalid_token"`, message: "the bearer token is not known" };
  };
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
