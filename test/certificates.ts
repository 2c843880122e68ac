/** Certificates for tests of TLS, made by openssl. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** PEM files. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes an authority, and a certificate of it for the given subject names (`IP:127.0.0.1`, `DNS:agent.test`), in a folder. */
export function makeCertificates(folder: string, names: string): Certificates {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "pipe" });
  const [ca, caKey, cert, key, request] = [file("ca.pem"), file("ca.key"), file("cert.pem"), file("cert.key"), file("cert.csr")] as const;
  const newKey = ["-newkey", "rsa:2048", "-nodes"];
  openssl("req", "-x509", ...newKey, "-days", "1", "-subj", "/CN=test CA", "-keyout", caKey, "-out", ca);
  openssl("req", ...newKey, "-subj", "/CN=test", "-addext", `subjectAltName=${names}`, "-keyout", key, "-out", request);
  openssl("x509", "-req", "-days", "1", "-in", request, "-CA", ca, "-CAkey", caKey, "-copy_extensions", "copy", "-out", cert);
  return { ca, cert, key };
}
