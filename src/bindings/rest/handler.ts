/** HTTP+JSON: every method of a service, by the google.api.http rules of its descriptor. */
import { create, type DescMethod, type DescService, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { RequestBounds } from "../../rpc/request-bounds.ts";
import { connectError, wireError } from "../../rpc/errors.ts";
import { jsonValue, oneLine } from "../../rpc/json-output.ts";
import type { GuardedService } from "../../rpc/policy.ts";
import { eventIdOf, wireJson } from "../../rpc/wire-cache.ts";
import { CallContext } from "../call-context.ts";
import { sendStatus, statusJson } from "../http.ts";
import { type Exchange, headersOf, type HttpHandler, isJson, mediaTypeOf, readBody, sendJson, watchPeer } from "../http-exchange.ts";
import { socketOf } from "../http-message.ts";
import { requireJson } from "../json-body.ts";
import type { EventStreams } from "../sse.ts";
import { buildRoutes, type HttpBinding, type RouteMatch, type Routes, withPostTwins } from "./routes.ts";
import { encodeResponse, transcode } from "./transcoder.ts";

/** How the binding is served. */
export interface RestOptions {
  /** Path before every route, or empty. */
  readonly restPrefix: string;
  /** Whether routes that begin with a variable segment are served: the tenant twins. */
  readonly tenantRoutes: boolean;
  readonly maxMessageBytes: number;
  readonly requestBounds: RequestBounds;
  /** Media type of replies to callers that name none. */
  readonly jsonContentType: string;
  readonly eventStreams: EventStreams;
}

type Impl = (request: Message, context: HandlerContext) => unknown;

/** The handler of all routes of a service. */
export function restHandler<S extends DescService>(guarded: GuardedService<S>, options: RestOptions): HttpHandler {
  const binding = new RestBinding(guarded, restRoutes(guarded.desc, options), options);
  return (exchange) => binding.handle(exchange);
}

/** The routes that are served of a service. */
export function restRoutes(service: DescService, options: Pick<RestOptions, "restPrefix" | "tenantRoutes">): Routes {
  return buildRoutes(service, {
    prefix: options.restPrefix,
    bindings: (method, declared) => served(method, declared, options.tenantRoutes),
  });
}

/** The declared bindings, without tenant twins where those are off, and with POST twins. */
function served(method: DescMethod, declared: readonly HttpBinding[], tenantRoutes: boolean): readonly HttpBinding[] {
  return withPostTwins(
    method,
    declared.filter(({ template }) => tenantRoutes || !template.startsWith("/{")),
  );
}

class RestBinding {
  readonly #guarded: GuardedService<DescService>;
  readonly #routes: Routes;
  readonly #options: RestOptions;

  constructor(guarded: GuardedService<DescService>, routes: Routes, options: RestOptions) {
    this.#guarded = guarded;
    this.#routes = routes;
    this.#options = options;
  }

  async handle(exchange: Exchange): Promise<boolean> {
    const { request, response } = exchange;
    const match = this.#routes.match(request.method ?? "GET", exchange.path);
    if (match.kind === "path-not-found") return false;
    if (match.kind === "method-not-allowed") {
      response.setHeader("allow", match.allow.join(", "));
      sendStatus(exchange, wireError(connectError("METHOD_NOT_ALLOWED", `this path takes ${match.allow.join(", ")}`)));
      return true;
    }
    const context = this.#context(exchange, match.route.method);
    try {
      await this.#call(exchange, match, context);
    } catch (error) {
      context.failed(error);
      sendStatus(exchange, wireError(error), context);
    } finally {
      context.end();
    }
    return true;
  }

  async #call(exchange: Exchange, match: RouteMatch, context: CallContext): Promise<void> {
    const { method } = match.route;
    await this.#guarded.admit(context);
    const body = await this.#body(exchange, match);
    this.#guarded.agree(context);
    const input = transcode(match, exchange.query, body, { onConflict: "refuse", bounds: this.#options.requestBounds });
    const impl = (this.#guarded.impl as unknown as Record<string, Impl>)[method.localName] as Impl;
    const result = await impl(input, context);
    if (method.methodKind === "server_streaming") return this.#stream(exchange, method, result as AsyncIterable<Message>, context);
    const output = create(method.output, result as never);
    if (match.route.responseBody === undefined && method.output.typeName !== "google.api.HttpBody") {
      return sendJson(exchange, 200, this.#jsonType(exchange), wireJson(method.output, output), context);
    }
    const reply = encodeResponse(match.route, output, jsonValue);
    const text = typeof reply.body === "string" ? oneLine(reply.body) : Buffer.from(reply.body).toString();
    return sendJson(exchange, 200, reply.contentType ?? this.#jsonType(exchange), text, context);
  }

  async #body({ request }: Exchange, { route }: RouteMatch): Promise<Buffer | undefined> {
    const bytes = await readBody(request, this.#options.maxMessageBytes);
    // A type matters only where there is a body to have it.
    if (route.body !== "none" && bytes.length > 0) requireJson(request);
    return bytes.length === 0 || route.body === "none" ? undefined : bytes;
  }

  async #stream(exchange: Exchange, method: DescMethod, stream: AsyncIterable<Message>, context: CallContext): Promise<void> {
    const frames = stream[Symbol.asyncIterator]() as AsyncIterator<Message, undefined>;
    await this.#options.eventStreams.send(exchange.response, context, frames, {
      frame: (frame) => wireJson(method.output, create(method.output, frame as never)),
      eventId: eventIdOf,
      error: statusJson,
    });
  }

  /** C-09: in the form that the caller uses or accepts. */
  #jsonType({ request }: Exchange): string {
    const accepted = (request.headers.accept ?? "").toLowerCase();
    if (accepted.includes("application/a2a+json")) return "application/a2a+json";
    if (accepted.includes("application/json")) return "application/json";
    const sent = mediaTypeOf(request);
    return sent !== undefined && isJson(sent) ? sent : this.#options.jsonContentType;
  }

  #context(exchange: Exchange, method: DescMethod): CallContext {
    const { request } = exchange;
    const context = new CallContext({
      service: this.#guarded,
      method,
      protocolName: "rest",
      requestMethod: request.method ?? "GET",
      url: request.url ?? "/",
      headers: () => headersOf(request),
      socket: socketOf(request),
    });
    watchPeer(exchange, context);
    return context;
  }
}
