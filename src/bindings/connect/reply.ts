/** What a call answers: a message, a stream of them, or an error, each in the call's form. */
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { acceptedKey } from "../../rpc/call-facts.ts";
import { wireError } from "../../rpc/errors.ts";
import { wireBytes, wireJson } from "../../rpc/wire-cache.ts";
import { type CallContext, readerStalled } from "../call-context.ts";
import { asBuffer, framed } from "../envelope.ts";
import { type Exchange, sendBody, setErrorHeaders } from "../http-exchange.ts";
import type { Wait } from "../progress.ts";
import { StreamedReply } from "../streamed-reply.ts";
import type { Form, LastEnvelope } from "./form.ts";

/** Sends a message as the whole body. */
export function sendMessage(exchange: Exchange, { output }: DescMethod, form: Form, result: unknown, context: CallContext): void {
  const message = create(output, result as never);
  const body = form.codec === "proto" ? asBuffer(wireBytes(output, message)) : Buffer.from(wireJson(output, message));
  sendBody(exchange, 200, { "content-type": form.contentType, "content-length": body.length }, body, context);
}

/** Tells of an error where nothing was sent yet. */
export function refuse(exchange: Exchange, form: Form, error: ConnectError, context?: CallContext): void {
  const { status, contentType, body } = form.refusal(error);
  setErrorHeaders(exchange, wireError(error));
  sendBody(exchange, status, { "content-type": contentType, "content-length": body.length }, body, context);
}

/** A reply in envelopes. Its headers go out as soon as the service has taken the call. */
export class EnvelopedReply {
  readonly #reply: StreamedReply<Buffer>;
  readonly #last: LastEnvelope;
  readonly #form: Form;
  readonly #context: CallContext;

  /** The reply in the form of the call; undefined where that has no envelopes. */
  static of({ response, slow }: Exchange, form: Form, context: CallContext): EnvelopedReply | undefined {
    if (form.last === undefined) return undefined;
    return new EnvelopedReply(new StreamedReply<Buffer>(response, context, form.contentType, slow), form, form.last, context);
  }

  private constructor(reply: StreamedReply<Buffer>, form: Form, last: LastEnvelope, context: CallContext) {
    this.#reply = reply;
    this.#form = form;
    this.#last = last;
    this.#context = context;
    context.values.set(acceptedKey, () => reply.open());
  }

  /** Whether the headers are out, so that an error can only be the last envelope. */
  get opened(): boolean {
    return this.#reply.opened;
  }

  /** Sends messages until the stream ends or its reader stalls. Rejects with what ends it otherwise. */
  async send(method: DescMethod, messages: AsyncIterator<Message>): Promise<void> {
    const { signal } = this.#context;
    if ((await this.#pump(method, messages)) === "stalled") {
      const stalled = readerStalled(this.#context);
      this.#context.failed(stalled);
      return this.#reply.giveUp(this.#last(stalled));
    }
    if (signal.aborted && !this.#reply.gone) throw signal.reason;
    this.end();
  }

  /** Ends the call, well or with an error. */
  end(error?: ConnectError): void {
    this.#reply.end(this.#last(error));
  }

  async #pump({ output }: DescMethod, messages: AsyncIterator<Message>): Promise<Wait> {
    try {
      for (;;) {
        const { done, value } = await messages.next();
        if (done === true || this.#reply.gone) return "drained";
        const going = this.#reply.push(framed(output, value, this.#form.codec));
        if (going !== undefined && (await going) === "stalled") return "stalled";
      }
    } finally {
      await messages.return?.();
    }
  }
}
