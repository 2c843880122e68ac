/** JSON-RPC 2.0 over HTTP: every method of a service, by its descriptor (requirements 2.22). */
import { create, type DescMethod, type DescService, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { RequestBounds } from "../../rpc/request-bounds.ts";
import { principalKey } from "../../rpc/call-facts.ts";
import { connectError, wireError } from "../../rpc/errors.ts";
import { parseJsonInput } from "../../rpc/json-input.ts";
import type { GuardedService } from "../../rpc/policy.ts";
import { eventIdOf, wireJson } from "../../rpc/wire-cache.ts";
import { CallContext } from "../call-context.ts";
import { type Exchange, headersOf, type HttpHandler, readBody, sendJson, setErrorHeaders, watchPeer } from "../http-exchange.ts";
import { socketOf } from "../http-message.ts";
import { requireJson } from "../json-body.ts";
import type { EventStreams } from "../sse.ts";
import { errorText, parsePosted, resultText, type RpcElement, type RpcRequest } from "./envelope.ts";

/** How the binding is served. */
export interface JsonRpcOptions {
  /** Paths that take posts; each also with a trailing slash. */
  readonly paths: readonly string[];
  readonly maxMessageBytes: number;
  readonly requestBounds: RequestBounds;
  /** Most requests of one batch. */
  readonly maxBatch: number;
  readonly eventStreams: EventStreams;
}

type Impl = (request: Message, context: HandlerContext) => unknown;

const JSON_TYPE = "application/json";

/** The handler of the JSON-RPC paths. */
export function jsonRpcHandler<S extends DescService>(guarded: GuardedService<S>, options: JsonRpcOptions): HttpHandler {
  const paths = new Set(options.paths.flatMap((path) => (path === "/" ? ["/"] : [path, `${path}/`])));
  const binding = new JsonRpcBinding(guarded, options);
  return async (exchange) => {
    if (!paths.has(exchange.path)) return false;
    await binding.handle(exchange);
    return true;
  };
}

class JsonRpcBinding {
  readonly #guarded: GuardedService<DescService>;
  readonly #options: JsonRpcOptions;
  readonly #methods: ReadonlyMap<string, DescMethod>;

  constructor(guarded: GuardedService<DescService>, options: JsonRpcOptions) {
    this.#guarded = guarded;
    this.#options = options;
    this.#methods = new Map(guarded.desc.methods.map((method) => [method.name, method]));
  }

  async handle(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return this.#refuse(exchange, connectError("METHOD_NOT_ALLOWED", "JSON-RPC requests are posted"));
    }
    const context = this.#context(exchange);
    watchPeer(exchange, context);
    try {
      await this.#guarded.authenticate(context);
      requireJson(request);
      const posted = parsePosted(await readBody(request, this.#options.maxMessageBytes), this.#options);
      if (posted.is === "batch") await this.#batch(exchange, posted.elements, context);
      else await this.#one(exchange, posted.element, context);
    } catch (error) {
      this.#refuse(exchange, error, context);
    } finally {
      context.end();
    }
  }

  async #one(exchange: Exchange, element: RpcElement, context: CallContext): Promise<void> {
    if ("error" in element) throw new Rejected(element.id, element.error);
    const method = this.#methods.get(element.method);
    if (method?.methodKind === "server_streaming" && element.id !== undefined) return this.#stream(exchange, element, method, context);
    const answer = await this.#answer(exchange, element, context);
    if (answer === undefined) {
      exchange.response.writeHead(204).end();
      return;
    }
    try {
      sendJson(exchange, answer.status, JSON_TYPE, answer.text, context);
    } catch (error) {
      throw new Rejected(element.id ?? "null", error);
    }
  }

  async #batch(exchange: Exchange, elements: readonly RpcElement[], whole: CallContext): Promise<void> {
    const answers = await Promise.all(
      elements.map(async (element) => {
        const context = this.#context(exchange);
        context.values.set(principalKey, whole.values.get(principalKey));
        const leave = (): void => context.end(whole.signal.reason);
        whole.signal.addEventListener("abort", leave);
        if (whole.signal.aborted) leave();
        try {
          const refusal = this.#unfit(element);
          if (refusal === undefined) return (await this.#answer(exchange, element as RpcRequest, context))?.text;
          context.failed(refusal);
          return errorText(element.id ?? "null", wireError(refusal));
        } finally {
          whole.signal.removeEventListener("abort", leave);
          context.end();
        }
      }),
    );
    this.#echo(whole);
    const said = answers.filter((answer) => answer !== undefined);
    if (said.length === 0) exchange.response.writeHead(204).end();
    else sendJson(exchange, 200, JSON_TYPE, `[${said.join(",")}]`, whole);
  }

  /** Why an element cannot be part of a batch; undefined where it can. */
  #unfit(element: RpcElement): unknown {
    if ("error" in element) return element.error;
    const streams = this.#methods.get(element.method)?.methodKind === "server_streaming";
    if (!streams || element.id === undefined) return undefined;
    return connectError("INVALID_REQUEST", `${element.method} streams: send it outside of a batch`);
  }

  /** The extensions of a batch are those of its request. What speaks against them each element has said already. */
  #echo(whole: CallContext): void {
    try {
      this.#guarded.agree(whole);
    } catch {
      // Said already.
    }
  }

  /** Carries out one request; undefined for a notification, whatever became of it. */
  async #answer(exchange: Exchange, request: RpcRequest, context: CallContext): Promise<{ status: number; text: string } | undefined> {
    const { id } = request;
    try {
      const method = this.#method(request);
      context.begin(method);
      const result = await this.#call(request, method, context);
      if (method.methodKind === "server_streaming") {
        // A notification of a streaming method starts what it starts; nobody reads.
        const frames = framesOf(result as AsyncIterable<Message>);
        await frames.next();
        await frames.return?.();
        return undefined;
      }
      if (id === undefined) return undefined;
      return { status: 200, text: resultText(id, wireJson(method.output, create(method.output, result as never))) };
    } catch (thrown) {
      context.failed(thrown);
      if (id === undefined) return undefined;
      const error = wireError(thrown);
      setErrorHeaders(exchange, error);
      return { status: error.jsonRpcHttp, text: errorText(id, error) };
    }
  }

  async #stream(exchange: Exchange, request: RpcRequest, method: DescMethod, context: CallContext): Promise<void> {
    const id = request.id ?? "null";
    context.begin(method);
    try {
      const stream = (await this.#call(request, method, context)) as AsyncIterable<Message>;
      await this.#options.eventStreams.send(exchange.response, context, framesOf(stream), {
        frame: (frame) => resultText(id, wireJson(method.output, create(method.output, frame as never))),
        eventId: eventIdOf,
        error: (error) => errorText(id, error),
      });
    } catch (error) {
      throw new Rejected(id, error);
    }
  }

  #method({ method: name }: RpcRequest): DescMethod {
    const method = this.#methods.get(name);
    if (method === undefined) throw connectError("METHOD_NOT_FOUND", `there is no method ${JSON.stringify(name.slice(0, 80))}`);
    return method;
  }

  async #call(request: RpcRequest, method: DescMethod, context: CallContext): Promise<unknown> {
    const { params } = request;
    if (typeof params !== "object" || params === null || Array.isArray(params)) {
      throw connectError("INVALID_ARGUMENT", "params is an object", { violations: [{ field: "params", description: "is an object" }] });
    }
    await this.#guarded.admit(context);
    this.#guarded.agree(context);
    const impl = (this.#guarded.impl as unknown as Record<string, Impl>)[method.localName] as Impl;
    return impl(parseJsonInput(method.input, params, "", { maxDepth: this.#options.requestBounds.depth }), context);
  }

  #context(exchange: Exchange): CallContext {
    return new CallContext({
      service: this.#guarded,
      method: undefined,
      protocolName: "json-rpc",
      requestMethod: "POST",
      url: exchange.request.url ?? "/",
      headers: () => headersOf(exchange.request),
      socket: socketOf(exchange.request),
    });
  }

  #refuse(exchange: Exchange, thrown: unknown, context?: CallContext): void {
    const { id, cause } = thrown instanceof Rejected ? thrown : { id: "null", cause: thrown };
    context?.failed(cause);
    const error = wireError(cause);
    setErrorHeaders(exchange, error);
    sendJson(exchange, error.jsonRpcHttp, JSON_TYPE, errorText(id, error), context);
  }
}

function framesOf(stream: AsyncIterable<Message>): AsyncIterator<Message, undefined> {
  return stream[Symbol.asyncIterator]() as AsyncIterator<Message, undefined>;
}

/** An error of a request whose id is known. */
class Rejected extends Error {
  override readonly name = "Rejected";
  readonly id: string;

  constructor(id: string, cause: unknown) {
    super("the request was rejected", { cause });
    this.id = id;
  }
}
