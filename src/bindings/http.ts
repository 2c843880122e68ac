/** The HTTP port: one server, a chain of handlers, JSON for whatever no handler takes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connectError, detailsJson, type WireError, wireError } from "../rpc/errors.ts";
import { oneLine } from "../rpc/json-output.ts";
import type { WriterOptions } from "./frame-writer.ts";
import { type Exchange, exchangeOf, type HttpHandler, sendJson, setErrorHeaders } from "./http-exchange.ts";

/** Tells about a handler that broke; nothing of it reaches the caller. */
export type OnBroken = (error: unknown) => void;

/** An HTTP/1.1 server over the handlers, in their order; not yet listening. */
export function httpServer(handlers: readonly HttpHandler[], slow: WriterOptions, onBroken: OnBroken): Server {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const exchange = exchangeOf(request, response, slow);
    try {
      for (const handler of handlers) if (await handler(exchange)) return;
      sendStatus(exchange, wireError(connectError("PATH_NOT_FOUND", "there is nothing at this path")));
    } catch (error) {
      onBroken(error);
      if (response.headersSent) response.destroy();
      else sendStatus(exchange, wireError(error));
    }
  };
  // Streams stay open for as long as they like; keepAliveTimeout outlives the idle timeouts of usual load balancers.
  return createServer(
    { keepAliveTimeout: 75_000, requestTimeout: 60_000, headersTimeout: 60_000 },
    (request, response) => void handle(request, response),
  );
}

/** Listens; answers the port. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  server.listen(port, host, () => {
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : port);
  });
  return promise;
}

/** `google.rpc.Status` as JSON under `error`. */
export function statusJson(error: WireError): string {
  const body = { code: error.http, status: error.status, message: error.message, details: detailsJson(error) };
  return oneLine(JSON.stringify({ error: body }));
}

/** Sends an error in HTTP+JSON's form; its type is application/json (C-08). */
export function sendStatus(exchange: Exchange, error: WireError, context?: Parameters<typeof sendJson>[4]): void {
  setErrorHeaders(exchange, error);
  sendJson(exchange, error.http, "application/json", statusJson(error), context);
}
