/** Tells callers apart whose credentials only the upstream can judge. */
import { createHash } from "node:crypto";
import { ANONYMOUS } from "../core/scope.ts";

/** Judges calls as the server's `authenticate` does; it turns nobody away, and vouches for nobody. */
export type TellApart = (headers: Headers) => { readonly name: string; readonly unproven: true };

/**
 * Callers are known by their credentials themselves, the values of these header fields: who has others sees none of their tasks, nor does
 * who has none. A credential that is renewed is another caller.
 */
export function callersByCredentials(names: readonly string[]): TellApart {
  return (headers) => {
    const values = names.map((name) => headers.get(name));
    if (values.every((value) => value === null)) return { name: ANONYMOUS, unproven: true };
    const digest = createHash("sha256").update(JSON.stringify(values)).digest("hex");
    return { name: `credentials:${digest.slice(0, 32)}`, unproven: true };
  };
}
