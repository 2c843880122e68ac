/** One delivery and its answer, whatever server carried them. */

/** A request. */
export interface Delivered {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
}

/** An answer. */
export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  /** Whether the request's body was read to its end. */
  readonly isRead: boolean;
}

/** Thrown to refuse a delivery. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Reads a body. Throws {@link Refused} where it is larger than it may be. */
export async function readBody({ body, headers }: Delivered, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): Refused => new Refused(413, `the body is larger than ${maxBytes} bytes`);
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
