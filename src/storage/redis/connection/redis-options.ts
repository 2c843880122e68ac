/** How Redis is reached and how safe a write must be. */
export interface RedisOptions {
  /**
   * `redis://[user:password@]host:port[/db]` for one server, `redis+sentinel://[user:password@]h1:p1,h2:p2/<master name>[/db]`,
   * `redis+cluster://[user:password@]h1:p1,h2:p2`; `rediss…` for TLS. User and password are percent-encoded.
   */
  readonly url: string;
  /** The first part of every key and channel, so that several services can share one Redis. Without braces. @default "throughline" */
  readonly prefix: string;
  /** How many parts the keys are spread over, 1 to 256; fixed at the first start, more than the masters a Cluster will ever have. @default 16 */
  readonly shards: number;
  /**
   * When a write counts as stored. `local`: when the master has answered. `replicated`: when `replicas` replicas have it too (WAIT).
   * `fsync`: when it is on the master's disk (`appendfsync always`, or WAITAOF of Redis 7.2 and later). @default "local"
   */
  readonly durability: "local" | "replicated" | "fsync";
  /** How many replicas must have a write; for `durability: replicated` only. @default 1 */
  readonly replicas: number;
  /**
   * How long a reply may take, in milliseconds; then the connection is given up and its outcome is unknown. Short, because a caller waits
   * behind it; longer than the longest pause of the server (fork, slow disk). @default 800
   */
  readonly commandTimeoutMs: number;
  /** File of PEM certificates that the server's must be signed by; for `rediss` only. @default the authorities of the platform */
  readonly tlsCa?: string | undefined;
  /** File with the PEM certificate that this program shows; for `rediss` only. @default none */
  readonly tlsCert?: string | undefined;
  /** File with the PEM key of `tlsCert`. @default none */
  readonly tlsKey?: string | undefined;
}
