/** Where a gRPC interface is: the forms of address that cards have (C-48). */

/** An address as grpc-js takes it. */
export interface GrpcTarget {
  readonly address: string;
  readonly plaintext: boolean;
  /** Whether the address asks for it that all servers it stands for share the calls. */
  readonly balanced: boolean;
}

/** Schemes that grpc-js resolves itself. */
const RESOLVED = /^(dns|unix|unix-abstract|ipv4|ipv6):/;
const HOST_PORT = /^(?:\[[0-9A-Fa-f:.%]+\]|[^\s/:?#[\]@]+)(?::(\d{1,5}))?$/;
const MAX_PORT = 65_535;

/**
 * Reads `host:port`, `http://host:port`, `https://host:port`, `dns:///host:port`, `unix:/path`, `ipv4:` and `ipv6:` with one address or several. `plaintext` decides on
 * TLS where it is given; else `http:` and unix sockets are plaintext and all others TLS. Throws a TypeError for anything else.
 */
export function parseGrpcTarget(url: string, plaintext: boolean | undefined): GrpcTarget {
  const scheme = RESOLVED.exec(url)?.[1];
  if (scheme !== undefined) {
    const isSocket = scheme.startsWith("unix");
    return { address: url, plaintext: plaintext ?? isSocket, balanced: !isSocket };
  }
  if (/^https?:/i.test(url)) return fromHttp(url, plaintext);
  const [named, port = 0] = HOST_PORT.exec(url) ?? [];
  if (named === undefined || Number(port) > MAX_PORT) throw badAddress(url);
  return { address: `dns:${url}`, plaintext: plaintext ?? false, balanced: false };
}

function fromHttp(url: string, plaintext: boolean | undefined): GrpcTarget {
  const parsed = URL.parse(url);
  // gRPC's paths are its methods: there is none to put before them.
  if (parsed === null || parsed.hostname === "" || parsed.pathname !== "/" || parsed.search !== "") throw badAddress(url);
  const isPlain = parsed.protocol === "http:";
  const port = parsed.port || (isPlain ? "80" : "443");
  return { address: `dns:${parsed.hostname}:${port}`, plaintext: plaintext ?? isPlain, balanced: false };
}

function badAddress(url: string): TypeError {
  return new TypeError(
    `${JSON.stringify(url)} is no address of a gRPC server: host:port, http(s)://host:port, dns:///host:port or unix:/path`,
  );
}
