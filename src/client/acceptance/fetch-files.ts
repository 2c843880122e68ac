/** Fetches the files that parts refer to (CL-25), within limits: an agent may name any address. */
import { Agent, fetch } from "undici";

/** How files are fetched. */
export interface FileOptions {
  /** Schemes that are followed. Default `https`, `http`; a redirect never leads from the one to the other. */
  readonly schemes?: readonly string[];
  /** Whether an address may be called, each that a redirect leads to as well. Default: each may. */
  readonly allow?: (url: URL) => boolean | Promise<boolean>;
  /** Header fields for an address, asked for at each redirect anew. Default none: a file gets no credentials of the agent. */
  readonly headers?: (url: URL) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Bytes of all files of an artifact together. Default 64 MiB. */
  readonly maxBytes?: number;
  /** How long one file may take, redirects included. Default 60 s. */
  readonly timeoutMs?: number;
  /** Redirects that are followed. Default 3. */
  readonly maxRedirects?: number;
  /** Authorities to trust, in PEM. Default: the platform's. */
  readonly ca?: string;
}

/** A file could not be had, or not all of it; the message says why, in words for a record. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/** Fetches the files of one artifact. Disposing closes its connections. */
export class FileFetcher implements AsyncDisposable {
  readonly #options: Required<Omit<FileOptions, "ca">>;
  readonly #connections: Agent;
  #left: number;

  constructor({ ca, ...options }: FileOptions) {
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    this.#options = {
      schemes: ["https", "http"],
      allow: () => true,
      headers: () => ({}),
      maxBytes: 64 * 1024 * 1024,
      timeoutMs: 60_000,
      maxRedirects: 3,
      ...given,
    };
    this.#left = this.#options.maxBytes;
    this.#connections = new Agent(ca === undefined ? {} : { connect: { ca } });
  }

  /** The whole file. Throws FileError, or the reason of the signal. */
  async fetch(address: string, signal: AbortSignal): Promise<Uint8Array> {
    const { timeoutMs } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#follow(address, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FileError) throw error;
      if (timeout.aborted) throw new FileError(`not there after ${timeoutMs} ms`, { cause: error });
      const { cause } = error as Error;
      throw new FileError(`it cannot be fetched: ${cause instanceof Error ? cause.message : (error as Error).message}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.destroy();
  }

  async #follow(address: string, signal: AbortSignal): Promise<Uint8Array> {
    const { maxRedirects } = this.#options;
    let url = this.#allowed(address);
    for (let redirects = 0; ; redirects += 1) {
      if (!(await this.#options.allow(url))) throw new FileError("its address is not allowed");
      const reply = await fetch(url, {
        redirect: "manual",
        headers: await this.#options.headers(url),
        dispatcher: this.#connections,
        signal,
      });
      const location = reply.headers.get("location");
      if (reply.status < 300 || reply.status > 399 || location === null) return this.#whole(reply);
      await reply.body?.cancel();
      if (redirects === maxRedirects) throw new FileError(`more than ${maxRedirects} redirects`);
      url = this.#allowed(location, url);
    }
  }

  /** An address that may be followed, as far as it says by itself. */
  #allowed(address: string, from?: URL): URL {
    const url = URL.parse(address, from?.href);
    if (url === null) throw new FileError("its address is no URL");
    const scheme = url.protocol.slice(0, -1);
    if (!this.#options.schemes.includes(scheme)) throw new FileError(`its address is of the scheme ${scheme}, which is not followed`);
    if (from !== undefined && url.protocol !== from.protocol)
      throw new FileError(`a redirect leads from ${from.protocol} to ${url.protocol}`);
    if (url.username !== "" || url.password !== "") throw new FileError("its address holds credentials, which are not used");
    return url;
  }

  async #whole({ status, body, headers }: Awaited<ReturnType<typeof fetch>>): Promise<Uint8Array> {
    if (status !== 200) {
      await body?.cancel();
      throw new FileError(`its server answers ${status}`);
    }
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (length > this.#left) throw new FileError(`the files are larger than ${this.#options.maxBytes} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      if (error instanceof FileError || (error as Error).name === "TimeoutError") throw error;
      const whole = headers.get("content-length");
      throw new FileError(`it broke off after ${length}${whole === null ? "" : ` of ${whole}`} bytes`, { cause: error });
    }
    this.#left -= length;
    return Buffer.concat(chunks);
  }
}
