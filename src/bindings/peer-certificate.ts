/** The certificate of a connection's peer, read once for all calls that come over it. */
import type { TLSSocket } from "node:tls";
import type { PeerCertificate } from "../rpc/auth/authenticate.ts";

const certificates = new WeakMap<TLSSocket, { readonly certificate: PeerCertificate | undefined }>();

/** What the peer has shown; undefined where that is nothing. */
export function certificateOf(socket: TLSSocket): PeerCertificate | undefined {
  let known = certificates.get(socket);
  if (known === undefined) {
    const x509 = socket.getPeerX509Certificate();
    known = { certificate: x509 && { x509, trusted: socket.authorized } };
    certificates.set(socket, known);
  }
  return known.certificate;
}
