/** A receiver behind node:http, and behind whatever hands on Node's requests. */
import type { Delivered, Reply } from "./webhook-exchange.ts";

/** Of `IncomingMessage` what is used. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  resume(): unknown;
  destroy(): unknown;
}

/** Of `ServerResponse` what is used. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(text?: string): unknown;
}

/** What a request that was refused may still send before its connection is cut. */
const REST_MS = 1000;

/** Reads Node's request. */
export function fromNode(request: NodeRequest): Delivered {
  const fields = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    [value ?? []].flat().map((one) => [name, one]),
  );
  return { method: request.method ?? "", path: (request.url ?? "").split("?")[0] ?? "", headers: new Headers(fields), body: request };
}

/** Answers. A body that nobody has read is read to its end for a moment, so that the answer is heard. */
export function toNode({ status, headers, text, isRead }: Reply, request: NodeRequest, response: NodeResponse): void {
  response.writeHead(status, isRead ? headers : { ...headers, connection: "close" });
  response.end(text);
  if (isRead) return;
  request.resume();
  setTimeout(() => request.destroy(), REST_MS).unref();
}
