/** Certificates for tests of TLS, made by openssl. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** PEM files. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** How a certificate differs from one that is good for a day. */
export interface CertificateOptions {
  /** Names beside the subject's: `IP:127.0.0.1`, `DNS:agent.test`, `URI:spiffe://example.org/caller`. Default: none. */
  readonly names?: string;
  /** Default: `/CN=test`. */
  readonly subject?: string;
  /** How long it is good; below 0 it has expired. Default 1. */
  readonly days?: number;
}

/** An authority with its files in a folder. */
export class Authority {
  readonly #folder: string;
  readonly #name: string;

  constructor(folder: string, name = "ca") {
    this.#folder = folder;
    this.#name = name;
    openssl("req", "-x509", ...NEW_KEY, "-days", "1", "-subj", `/CN=test ${name}`, "-keyout", this.#file("key"), "-out", this.ca);
  }

  get ca(): string {
    return this.#file("pem");
  }

  /** A certificate by it, and its key. */
  issue(name: string, { names, subject = "/CN=test", days = 1 }: CertificateOptions = {}): Certificates {
    const [cert, key, request] = ["pem", "key", "csr"].map((kind) => join(this.#folder, `${name}.${kind}`)) as [string, string, string];
    const extensions = names === undefined ? [] : ["-addext", `subjectAltName=${names}`];
    openssl("req", ...NEW_KEY, "-subj", subject, ...extensions, "-keyout", key, "-out", request);
    const by = ["-CA", this.ca, "-CAkey", this.#file("key"), "-copy_extensions", "copy"];
    openssl("x509", "-req", "-days", String(days), "-in", request, ...by, "-out", cert);
    return { ca: this.ca, cert, key };
  }

  #file(kind: string): string {
    return join(this.#folder, `${this.#name}.${kind}`);
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}

/** Makes an authority, and a certificate of it for the given subject names (`IP:127.0.0.1`, `DNS:agent.test`), in a folder. */
export function makeCertificates(folder: string, names: string): Certificates {
  return new Authority(folder).issue("cert", { names });
}
