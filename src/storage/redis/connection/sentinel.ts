import { type DialOptions, DialError, connect } from "./dial.ts";
import type { Locator } from "./node.ts";
import type { Reply } from "./reply.ts";
import { RedisReplyError, isReply } from "./store-error.ts";
import { type Address, type RedisUrl, formatAddress } from "./url.ts";

/** A sentinel that does not answer must not hold up the next one for long. */
const ANSWER_TIMEOUT_MS = 500;

/** Finds the master that the sentinels watch. */
export class SentinelFinder implements Locator {
  readonly #master: string;
  readonly #options: DialOptions;
  /** Those that answered last come first. */
  #sentinels: readonly Address[];
  /** What each sentinel said last. */
  readonly #named = new Map<string, Address>();

  constructor({ hosts, master = "" }: Pick<RedisUrl, "hosts" | "master">, options: DialOptions) {
    this.#sentinels = hosts;
    this.#master = master;
    this.#options = options;
  }

  /** Asks one sentinel after the other. Throws DialError. */
  async find(signal: AbortSignal): Promise<Address> {
    const failures: DialError[] = [];
    for (const sentinel of this.#sentinels) {
      try {
        return await this.#ask(sentinel, signal);
      } catch (error) {
        if (!(error instanceof DialError)) throw error;
        failures.push(error);
        // Asked last next time, so that one with an old view does not have the say for ever.
        this.#sentinels = [...this.#sentinels.filter((other) => other !== sentinel), sentinel];
      }
    }
    const kinds = new Set(failures.map((failure) => failure.kind));
    const kind = kinds.has("wait") ? "wait" : kinds.has("setup") ? "setup" : "refused";
    throw new DialError(kind, `no sentinel names the master: ${failures.map(({ message }) => message).join("; ")}`, { cause: failures[0] });
  }

  /**
   * The master that a sentinel names since it was asked last; undefined where it names the one of then. A sentinel that is behind the others
   * has not changed its mind, and so does not call anybody back to the old one. Throws DialError.
   */
  async switched(signal: AbortSignal): Promise<Address | undefined> {
    const before = new Map(this.#named);
    const now = await this.find(signal);
    for (const [sentinel, named] of this.#named) {
      const last = before.get(sentinel);
      if (last !== undefined && formatAddress(last) !== formatAddress(named)) return now;
    }
    return undefined;
  }

  /** The master that was named is none: the next sentinel is asked first. */
  distrust(): void {
    const [first, ...others] = this.#sentinels;
    if (first !== undefined) this.#sentinels = [...others, first];
  }

  async #ask(sentinel: Address, signal: AbortSignal): Promise<Address> {
    const { wire } = await connect(sentinel, this.#options, { signal, replyTimeoutMs: ANSWER_TIMEOUT_MS });
    try {
      const ask = (): Promise<Reply> => wire.send("SENTINEL", ["GET-MASTER-ADDR-BY-NAME", this.#master]);
      const { username, password } = this.#options;
      // Sentinels have users of their own, often none: ours are offered only where one is asked for.
      const reply = await wire.send("PING", []).then(ask, async (error: unknown) => {
        if (!isReply(error, "NOAUTH") || password === undefined) throw error;
        await wire.send("AUTH", username === undefined ? [password] : [username, password]);
        return await ask();
      });
      const named = toAddress(reply, sentinel, this.#master);
      this.#named.set(formatAddress(sentinel), named);
      return named;
    } catch (error) {
      throw asDialError(error, sentinel);
    } finally {
      wire.destroy();
    }
  }
}

function toAddress(reply: Reply, sentinel: Address, master: string): Address {
  if (!Array.isArray(reply))
    throw new DialError("setup", `the sentinel ${formatAddress(sentinel)} knows no master ${JSON.stringify(master)}`);
  const [host, port] = reply as readonly Reply[];
  return { host: String(host), port: Number(String(port)) };
}

function asDialError(error: unknown, sentinel: Address): DialError {
  if (error instanceof DialError) return error;
  const at = formatAddress(sentinel);
  if (isReply(error, "NOAUTH")) return new DialError("setup", `the sentinel ${at} asks for a password`, { cause: error });
  if (error instanceof RedisReplyError) return new DialError("setup", `the sentinel ${at} refuses: ${error.message}`, { cause: error });
  return new DialError("wait", `the sentinel ${at} does not answer`, { cause: error });
}
