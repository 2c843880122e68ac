/** What policy has found out about a call, for the service to read. */
import { type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { PeerCertificate, Principal } from "./auth/authenticate.ts";

/** Who calls; undefined until the call was authenticated. */
export const principalKey: ContextKey<Principal | undefined> = createContextKey<Principal | undefined>(undefined, {
  description: "principal",
});

/** The certificate that the peer of the call's connection has shown. */
export const certificateKey: ContextKey<PeerCertificate | undefined> = createContextKey<PeerCertificate | undefined>(undefined, {
  description: "peer certificate",
});

/** Answers the address that the call's connection comes from; empty where that is gone. A function: few calls are asked, and the answer costs. */
export const peerAddressKey: ContextKey<() => string> = createContextKey<() => string>(() => "", { description: "peer address" });

/** Response header, and gRPC initial metadata, that names the task as soon as it exists. */
export const TASK_ID_HEADER = "a2a-task-id";

/** URIs of our extensions that the request activates and the card declares. */
export const extensionsKey: ContextKey<ReadonlySet<string>> = createContextKey<ReadonlySet<string>>(new Set<string>(), {
  description: "active extensions",
});

/**
 * Called by the service when it has taken a call whose first frame or reply may be long in coming (a resumed stream, a blocking send):
 * a binding that can sends its headers.
 */
export const acceptedKey: ContextKey<() => void> = createContextKey<() => void>(() => undefined, { description: "call accepted" });

/** The principal of an authenticated call. Throws where policy was passed by. */
export function principalOf(context: HandlerContext): Principal {
  const principal = context.values.get(principalKey);
  if (principal === undefined) throw new TypeError("the call was not authenticated");
  return principal;
}
