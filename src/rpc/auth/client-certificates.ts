/** Mutual TLS: who a caller is by the certificate that it shows. */
import type { X509Certificate } from "node:crypto";
import type { CallOrigin, Principal } from "./authenticate.ts";
import { type AuthScheme, type Judgement, REALM } from "./auth-scheme.ts";

/** What a caller is whose certificate is known. Its name is that of the certificate, where none is given. */
type CertificateGrant = Pick<Principal, "scopes" | "tenants"> & { readonly name?: string | undefined };

/** What of a certificate names the principal, and who may call. */
export interface ClientCertificateOptions {
  /** `spiffe`: the one SPIFFE id among its alternative names. `subject`: its subject, as RFC 4514 writes it: `CN=alice,O=Example`. */
  readonly identity: "spiffe" | "subject";
  /**
   * Who is let in, by what names them, and what they are then; `*` at the end of a key stands for any rest. A whole key wins over one with
   * `*`, a longer over a shorter. Default: everybody whose certificate is trusted, by the name that it has.
   */
  readonly allow?: Readonly<Record<string, CertificateGrant>> | undefined;
}

const SPIFFE = /^spiffe:\/\/[a-z0-9._-]{1,255}(?:\/[A-Za-z0-9._-]+)+$/;

/** The scheme. */
export class ClientCertificates implements AuthScheme {
  readonly declared: AuthScheme["declared"] = {
    mtls: {
      scheme: { case: "mtlsSecurityScheme", value: { description: "A client certificate of an authority that the server trusts." } },
    },
  };
  readonly wants = "a client certificate";
  readonly #options: ClientCertificateOptions;
  /** Longest first. */
  readonly #prefixes: readonly string[];
  readonly #known = new WeakMap<X509Certificate, Judgement>();

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
    this.#prefixes = Object.keys(options.allow ?? {})
      .filter((key) => key.endsWith("*"))
      .map((key) => key.slice(0, -1))
      .toSorted((a, b) => b.length - a.length);
  }

  /** No such scheme is registered; it tells what is meant. */
  challenge(): string {
    return `MutualTLS ${REALM}`;
  }

  judge(_headers: Headers, { certificate }: CallOrigin): Judgement | undefined {
    if (certificate === undefined) return undefined;
    const { x509, trusted } = certificate;
    if (!trusted) return { refused: "the client certificate is not one of an authority that this server trusts" };
    // It was good when the connection began; connections are long.
    if (x509.validToDate.getTime() <= Date.now()) return { refused: "the client certificate has expired" };
    const known = this.#known.get(x509) ?? this.#principal(x509);
    this.#known.set(x509, known);
    return known;
  }

  #principal(x509: X509Certificate): Judgement {
    const name = this.#options.identity === "spiffe" ? spiffeId(x509) : subjectOf(x509);
    if (name === undefined) return { refused: `the client certificate has no ${this.#options.identity} that names a caller` };
    const { allow } = this.#options;
    if (allow === undefined) return { name };
    const prefix = this.#prefixes.find((one) => name.startsWith(one));
    const granted = Object.hasOwn(allow, name) ? allow[name] : prefix === undefined ? undefined : allow[`${prefix}*`];
    if (granted === undefined) return { refused: "the client certificate is of nobody who may call" };
    return { ...granted, name: granted.name ?? name };
  }
}

/** The SPIFFE id; undefined where there is not exactly one URI among the names, as an SVID has it. */
function spiffeId({ subjectAltName = "" }: X509Certificate): string | undefined {
  const uris = names(subjectAltName).flatMap((name) => (name.startsWith("URI:") ? [name.slice("URI:".length)] : []));
  return uris.length === 1 && SPIFFE.test(uris[0] ?? "") ? uris[0] : undefined;
}

/** Node quotes a name in JSON where it could be taken for several. */
function names(subjectAltName: string): string[] {
  return subjectAltName.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g)?.map((name) => name.trim()) ?? [];
}

/** The subject, its most special part first; undefined where it is empty. */
function subjectOf({ subject }: X509Certificate): string | undefined {
  // Node has a line for each part, and line ends within one escaped.
  return (subject ?? "").split("\n").toReversed().join(",") || undefined;
}
