/** Connect and gRPC-Web: every method of a service, by its descriptor. Frames are those of gRPC, made once for all who read them. */
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { RequestBounds } from "../../rpc/request-bounds.ts";
import { connectError, toConnectError, wireError } from "../../rpc/errors.ts";
import type { GuardedService } from "../../rpc/policy.ts";
import { CallContext, endsAfter } from "../call-context.ts";
import { sendStatus } from "../http.ts";
import { type Exchange, headersOf, type HttpHandler, mediaTypeOf, watchPeer } from "../http-exchange.ts";
import { socketOf } from "../http-message.ts";
import { type Form, FORMS } from "./form.ts";
import { EnvelopedReply, refuse, sendMessage } from "./reply.ts";
import { parseMessage, readMessage } from "./request.ts";

/** How the binding is served. */
export interface ConnectOptions {
  /** Largest request, in bytes, as sent and as inflated. */
  readonly maxMessageBytes: number;
  readonly requestBounds: RequestBounds;
}

type Impl = (request: Message, context: HandlerContext) => unknown;

/** The handler of `/<service>/<method>` for all methods of a service. */
export function connectHandler<S extends DescService>(guarded: GuardedService<S>, options: ConnectOptions): HttpHandler {
  const prefix = `/${guarded.desc.typeName}/`;
  const methods = new Map(guarded.desc.methods.map((method) => [method.name, method]));
  const binding = new ConnectBinding(guarded, options);
  return async (exchange) => {
    if (!exchange.path.startsWith(prefix)) return false;
    await binding.handle(exchange, methods.get(exchange.path.slice(prefix.length)));
    return true;
  };
}

class ConnectBinding {
  readonly #guarded: GuardedService<DescService>;
  readonly #options: ConnectOptions;

  constructor(guarded: GuardedService<DescService>, options: ConnectOptions) {
    this.#guarded = guarded;
    this.#options = options;
  }

  async handle(exchange: Exchange, method: DescMethod | undefined): Promise<void> {
    const { request, response } = exchange;
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return sendStatus(exchange, wireError(connectError("METHOD_NOT_ALLOWED", "calls of Connect and gRPC-Web are posted")));
    }
    const mediaType = mediaTypeOf(request) ?? "";
    const forms = formsOf(method);
    const form = forms.get(mediaType);
    if (form === undefined) {
      const taken = [...forms.keys()].join(", ");
      response.setHeader("accept-post", taken);
      const hint = /^application\/grpc(\+|$)/.test(mediaType) ? "gRPC has a port of its own; " : "";
      return sendStatus(exchange, wireError(connectError("UNSUPPORTED_MEDIA_TYPE", `${hint}a call is one of ${taken}`)));
    }
    if (method === undefined) return refuse(exchange, form, connectError("METHOD_NOT_FOUND", "there is no such method"));
    await this.#call(exchange, method, form);
  }

  async #call(exchange: Exchange, method: DescMethod, form: Form): Promise<void> {
    const { request } = exchange;
    const timeout = form.parseTimeout((request.headers[form.timeoutHeader] as string | undefined) ?? null, Number.MAX_SAFE_INTEGER);
    const context = this.#context(exchange, method, form, timeout.error === undefined ? timeout.timeoutMs : undefined);
    const reply = EnvelopedReply.of(exchange, form, context);
    try {
      await this.#guarded.admit(context);
      if (timeout.error !== undefined) throw badTimeout(form.timeoutHeader);
      const bytes = await readMessage(request, form, this.#options.maxMessageBytes, context);
      this.#guarded.agree(context);
      const impl = (this.#guarded.impl as unknown as Record<string, Impl>)[method.localName] as Impl;
      const result = impl(parseMessage(method, form, bytes, this.#options.requestBounds), context);
      if (reply === undefined) sendMessage(exchange, method, form, await result, context);
      else await reply.send(method, messagesOf(method, result));
    } catch (thrown) {
      const error = toConnectError(thrown);
      context.failed(error);
      if (reply?.opened === true) reply.end(error);
      else refuse(exchange, form, error, context);
    } finally {
      context.end();
    }
  }

  #context(exchange: Exchange, method: DescMethod, { protocol }: Form, timeoutMs: number | undefined): CallContext {
    const { request } = exchange;
    const context = new CallContext({
      service: this.#guarded,
      method,
      protocolName: protocol,
      requestMethod: "POST",
      url: request.url ?? "/",
      headers: () => headersOf(request),
      socket: socketOf(request),
      timeoutMs: timeoutMs === undefined ? undefined : endsAfter(timeoutMs),
    });
    watchPeer(exchange, context);
    return context;
  }
}

/** The forms in which a method may be called; those of all methods where there is none. */
function formsOf(method: DescMethod | undefined): ReadonlyMap<string, Form> {
  if (method === undefined) return new Map([...FORMS.unary, ...FORMS.server_streaming]);
  return method.methodKind === "server_streaming" ? FORMS.server_streaming : FORMS.unary;
}

function badTimeout(field: string): unknown {
  const description = "is no timeout";
  return connectError("INVALID_ARGUMENT", `${field} ${description}`, { violations: [{ field, description }] });
}

/** The messages of a reply in envelopes. */
function messagesOf(method: DescMethod, result: unknown): AsyncIterator<Message> {
  return method.methodKind === "server_streaming"
    ? (result as AsyncIterable<Message>)[Symbol.asyncIterator]()
    : only(result as Promise<Message>);
}

async function* only(message: Promise<Message>): AsyncGenerator<Message> {
  yield await message;
}
