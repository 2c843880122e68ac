/**
 * Names whose addresses are asked for again and again. grpc-js asks when it has lost a connection; where replicas are added none is lost,
 * and they would get no calls.
 */
import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { type ChannelOptions, experimental, Metadata, status } from "@grpc/grpc-js";

/** The scheme that stands for `dns:` here. */
const SCHEME = "throughline-dns";
/** The channel option with the time between two questions. */
const POLL_MS = "throughline.resolve_ms";
/** Time between two questions at least, however often connections are lost. */
const LEAST_MS = 1000;
const DEFAULT_PORT = 443;

/** A target of grpc-js as this resolver takes it, with its options; others, and addresses, as they are. */
export function polled(target: string, resolveMs: number): { readonly target: string; readonly options: ChannelOptions } {
  const [, rest = "", name = ""] = /^dns:((?:\/\/[^/]*\/)?(.+))$/.exec(target) ?? [];
  const host = experimental.splitHostPort(name)?.host ?? "";
  if (rest === "" || isIP(host) !== 0) return { target, options: {} };
  return { target: `${SCHEME}:${rest}`, options: { [POLL_MS]: resolveMs } };
}

/** As grpc-js has its resolvers: it begins when it is first asked, and tells of every change until it is destroyed. */
class PollingResolver implements experimental.Resolver {
  readonly #host: string;
  readonly #port: number;
  /** Of a target that names its name server, as in `dns://192.0.2.1/host:port`. */
  readonly #server: Resolver | undefined;
  readonly #listener: experimental.ResolverListener;
  readonly #resolveMs: number;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #looked = -Infinity;
  /** The addresses that were told last. */
  #told: string | undefined;
  #destroyed = false;

  constructor({ path, authority }: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
    const { host, port = DEFAULT_PORT } = experimental.splitHostPort(path) ?? { host: path };
    this.#host = host;
    this.#port = port;
    this.#listener = listener;
    this.#resolveMs = Number(options[POLL_MS]);
    if (authority === undefined || authority === "") return;
    this.#server = new Resolver();
    this.#server.setServers([authority]);
  }

  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path;
  }

  /** A connection was lost, or the channel is new: it wants to hear something, changed or not. */
  updateResolution(): void {
    this.#told = undefined;
    // Somebody may be waiting for it: the process is not to end meanwhile.
    this.#lookIn(Math.max(0, this.#looked + LEAST_MS - performance.now())).ref();
  }

  destroy(): void {
    this.#destroyed = true;
    clearTimeout(this.#timer);
    this.#server?.cancel();
  }

  #lookIn(ms: number): NodeJS.Timeout {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
    return this.#timer;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    this.#looked = performance.now();
    const found = await this.#addresses().catch((error: unknown) => error);
    this.#looking = false;
    if (this.#destroyed) return;
    if (Array.isArray(found) && found.length > 0) this.#tell(found as string[]);
    else if (this.#told === undefined) this.#fail(found);
    this.#lookIn(this.#resolveMs);
  }

  #tell(addresses: readonly string[]): void {
    const all = addresses.toSorted().join(" ");
    if (all === this.#told) return;
    this.#told = all;
    const endpoints = addresses.map((host) => ({ addresses: [{ host, port: this.#port }] }));
    this.#listener(experimental.statusOrFromValue(endpoints), {}, null, "");
  }

  #fail(error: unknown): void {
    const why = error instanceof Error ? error.message : "it has no address";
    const details = `Name resolution failed for ${this.#host}: ${why}`;
    this.#listener(experimental.statusOrFromError({ code: status.UNAVAILABLE, details, metadata: new Metadata() }), {}, null, "");
  }

  async #addresses(): Promise<string[]> {
    if (this.#server === undefined) return (await lookup(this.#host, { all: true })).map(({ address }) => address);
    const both = await Promise.allSettled([this.#server.resolve4(this.#host), this.#server.resolve6(this.#host)]);
    const found = both.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    if (found.length === 0 && both[0].status === "rejected") throw both[0].reason;
    return found;
  }
}

experimental.registerResolver(SCHEME, PollingResolver);
