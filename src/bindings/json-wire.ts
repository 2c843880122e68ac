/** What HTTP+JSON and JSON-RPC have in common on the caller's side: JSON over HTTP/1.1, streams as server-sent events. */
import { create, type DescMessage, type DescMethod, type JsonValue, type Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { clientErrorFacts } from "../rpc/client-errors.ts";
import { errorFromJson } from "../rpc/error-json.ts";
import { A2A_DOMAIN } from "../rpc/errors.ts";
import { peerError } from "../rpc/peer-error.ts";
import { parseJsonReply, parseReplyText, unreadable } from "../rpc/json-reply.ts";
import type { ClientCall, StreamReply, UnaryReply, Wire } from "./client-call.ts";
import { keepEventId } from "./event-ids.ts";
import { EventReader, type ServerEvent } from "./event-reader.ts";
import { HttpClient, type HttpReply, type HttpTransportOptions } from "./http-client.ts";
import { type FrameSource, Incoming } from "./incoming.ts";
import { PlainHeaders } from "./plain-headers.ts";
import type { ResolvedOptions } from "./transport.ts";

/** One request for a call, and how its reply is read. */
export interface Attempt {
  readonly method: string;
  /** Path and query, below the path of the URL. */
  readonly target: string;
  readonly body: string | undefined;
  /** The message of a reply or of an event's data. Throws the error that it tells, or INTERNAL where it is neither. */
  readonly read: (json: JsonValue, from: JsonSource) => Message;
  /** Called when the server has shown that it knows this method on this path. */
  readonly known?: () => void;
}

/** Where JSON was found. */
export interface JsonSource {
  readonly headers: Headers;
  /** Undefined in mid-stream. */
  readonly httpStatus: number | undefined;
  /** Name of the event; `message` for what is none. */
  readonly event: string;
}

/** How a binding puts calls into HTTP. */
export interface JsonForm {
  readonly contentType: string;
  /** Media types of replies that are no stream. */
  readonly accept: string;
  /** The ways to make a call, first the one to be tried first. */
  readonly attempts: (method: DescMethod, request: Message) => readonly Attempt[];
}

/** Statuses that may say that there is no such method on this path, rather than what it says. */
const NO_ROUTE: ReadonlySet<number> = new Set([404, 405, 501]);
const NOTHING: FrameSource = { pause() {}, resume() {}, cancel() {} };

/** A wire of JSON. */
export class JsonWire implements Wire {
  readonly #http: HttpClient;
  readonly #form: JsonForm;
  readonly #maxMessageBytes: number;

  constructor(form: JsonForm, options: ResolvedOptions<HttpTransportOptions>) {
    this.#http = new HttpClient(options);
    this.#form = form;
    this.#maxMessageBytes = options.maxMessageBytes;
  }

  async unary(call: ClientCall): Promise<UnaryReply> {
    const { attempt, reply } = await this.#send(call, this.#form.accept);
    return { header: reply.headers, trailer: new PlainHeaders(), message: await this.#message(call, attempt, reply) };
  }

  async stream(call: ClientCall): Promise<StreamReply> {
    const { attempt, reply } = await this.#send(call, `text/event-stream, ${this.#form.accept}`);
    const frames = mediaTypeOf(reply) === "text/event-stream" ? this.#events(attempt, reply) : await this.#noEvents(call, attempt, reply);
    return { header: reply.headers, trailer: new PlainHeaders(), frames };
  }

  close(): void {
    this.#http.close();
  }

  /** Goes through the attempts until the server knows one. Throws the error of a reply that is no success. */
  async #send({ method, request, headers, signal }: ClientCall, accept: string): Promise<{ attempt: Attempt; reply: HttpReply }> {
    const attempts = this.#form.attempts(method, request);
    for (const [index, attempt] of attempts.entries()) {
      const sent = new PlainHeaders();
      sent.set("accept", accept);
      if (attempt.body !== undefined) sent.set("content-type", this.#form.contentType);
      for (const [name, value] of headers) sent.set(name, value);
      const beginsAtOnce = method.methodKind === "server_streaming";
      const reply = await this.#http.send({ ...attempt, headers: sent, signal, beginsAtOnce });
      if (reply.status >= 200 && reply.status < 300) {
        attempt.known?.();
        return { attempt, reply };
      }
      const error = await this.#error(reply);
      const isAgents = clientErrorFacts(error).domain === A2A_DOMAIN;
      if (isAgents) attempt.known?.();
      if (isAgents || !NO_ROUTE.has(reply.status) || index === attempts.length - 1) throw error;
    }
    throw new TypeError(`${method.toString()}: there is no way to call it`);
  }

  async #error(reply: HttpReply): Promise<ConnectError> {
    const text = await this.#http.text(reply);
    return errorFromJson(isJson(reply) ? tryJson(text) : undefined, { httpStatus: reply.status, headers: reply.headers });
  }

  async #message({ method }: ClientCall, attempt: Attempt, reply: HttpReply): Promise<Message> {
    const text = await this.#http.text(reply);
    if (text.trim() !== "" && isJson(reply)) {
      return attempt.read(parseReplyText(text), { headers: reply.headers, httpStatus: reply.status, event: "message" });
    }
    // C-28: where there is nothing to say, nothing need be said.
    if (hasNoFields(method.output)) return create(method.output);
    throw unreadable(text.trim() === "" ? "the reply is empty" : `the reply is ${mediaTypeOf(reply)}, not JSON`);
  }

  #events(attempt: Attempt, { body, headers }: HttpReply): Incoming<ServerEvent, Message> {
    const source = { pause: () => body.pause(), resume: () => body.resume(), cancel: () => body.destroy() };
    const frames = new Incoming<ServerEvent, Message>(source, ({ name, data, lastEventId }) => {
      const frame = attempt.read(parseReplyText(data), { headers, httpStatus: undefined, event: name });
      keepEventId(frame, lastEventId);
      return frame;
    });
    const reader = new EventReader(this.#maxMessageBytes, (event) => {
      if (event.data !== "") frames.push(event);
    });
    const fail = (error: unknown): void => {
      frames.end({ error: this.#http.networkError(error) });
      body.destroy();
    };
    body.on("data", (bytes: Buffer) => {
      try {
        reader.feed(bytes);
      } catch (error) {
        fail(error);
      }
    });
    body.on("error", fail);
    body.on("end", () => frames.end("clean"));
    return frames;
  }

  /** C-34: what is no event stream is one plain reply, and 204 says that there is none and to ask no more. */
  async #noEvents(call: ClientCall, attempt: Attempt, reply: HttpReply): Promise<Incoming<Message, Message>> {
    const frames = new Incoming<Message, Message>(NOTHING, (frame) => frame);
    if (reply.status === 204) {
      await this.#http.text(reply);
      const refusal = { code: Code.FailedPrecondition, reason: "UNSUPPORTED_OPERATION", details: [], metadata: reply.headers };
      throw peerError({ message: "the server has no stream for this (204)", ...refusal });
    }
    frames.push(await this.#message(call, attempt, reply));
    frames.end("clean");
    return frames;
  }
}

/** The message of a reply's JSON; a message without fields is there whatever stands for it (C-28). */
export function readMessage(desc: DescMessage, json: JsonValue): Message {
  return hasNoFields(desc) ? create(desc) : parseJsonReply(desc, json);
}

/** Whether a message of this kind says nothing, so that it need not be there. */
export function hasNoFields({ fields }: DescMessage): boolean {
  return fields.length === 0;
}

/** Media types are compared without case and parameters. */
function mediaTypeOf({ headers }: HttpReply): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** What says nothing of itself may be JSON. */
function isJson(reply: HttpReply): boolean {
  const mediaType = mediaTypeOf(reply);
  return mediaType === "" || mediaType === "application/json" || mediaType.endsWith("+json");
}

function tryJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
