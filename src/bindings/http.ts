/** What answers HTTP: a chain of handlers, and JSON for whatever no handler takes. */
import type { Server } from "node:http";
import { connectError, detailsJson, type WireError, wireError } from "../rpc/errors.ts";
import { oneLine } from "../rpc/json-output.ts";
import type { WriterOptions } from "./frame-writer.ts";
import { type Exchange, exchangeOf, type HttpHandler, sendJson, setErrorHeaders } from "./http-exchange.ts";
import { cut, type HttpRequest, type HttpResponse } from "./http-message.ts";

/** Tells about a handler that broke; nothing of it reaches the caller. */
export type OnBroken = (error: unknown) => void;

/** Takes requests of either version of HTTP. */
export type Listener = (request: HttpRequest, response: HttpResponse) => void;

/** The handlers, in their order. */
export function listener(handlers: readonly HttpHandler[], slow: WriterOptions, onBroken: OnBroken): Listener {
  const handle = async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    const exchange = exchangeOf(request, response, slow);
    try {
      for (const handler of handlers) if (await handler(exchange)) return;
      sendStatus(exchange, wireError(connectError("PATH_NOT_FOUND", "there is nothing at this path")));
    } catch (thrown) {
      const error = wireError(thrown);
      if (error.reason === "INTERNAL" || response.headersSent) onBroken(thrown);
      if (response.headersSent) cut(response);
      else sendStatus(exchange, error);
    }
  };
  return (request, response) => void handle(request, response);
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
