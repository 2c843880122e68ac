/** Server streams on grpc-js: pulled from the log as fast as the reader takes them, ended when it takes nothing. */
import type { DescMethodServerStreaming, Message } from "@bufbuild/protobuf";
import type { handleServerStreamingCall } from "@grpc/grpc-js";
import { acceptedKey } from "../../rpc/call-facts.ts";
import { type CallContext, readerStalled } from "../call-context.ts";
import { framed } from "../envelope.ts";
import { FrameWriter } from "../frame-writer.ts";
import { RST_CANCEL } from "../http-message.ts";
import type { Wait } from "../progress.ts";
import { type AnyGuarded, type CallOptions, contextOf, decode, type Impl, headersOnce, statusOf } from "./call.ts";
import { http2StreamOf } from "./http2-stream.ts";
import { letGo } from "./let-go.ts";

/** The handler of a streaming method. */
export function streaming(
  guarded: AnyGuarded,
  method: DescMethodServerStreaming,
  impl: Impl,
  options: CallOptions,
): handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const context = contextOf(guarded, method, call);
    const open = headersOnce(call, context);
    context.values.set(acceptedKey, open);
    const stream = http2StreamOf(call);
    const writer = new FrameWriter<Buffer>(stream, options, context.signal);
    const run = async (): Promise<void> => {
      try {
        await guarded.admit(context);
        const source = impl(decode(method, call.request, options.requestBounds), context) as AsyncIterable<object>;
        const end = await pump(method, source[Symbol.asyncIterator](), writer, context, open);
        if (end === "stalled") {
          const stalled = readerStalled(context);
          context.failed(stalled);
          const status = statusOf(stalled);
          await writer.giveUp(
            () => call.emit("error", status),
            () => stream.close(RST_CANCEL),
          );
        } else if (context.signal.aborted && !call.cancelled) throw context.signal.reason;
        else call.end();
      } catch (error) {
        context.failed(error);
        open();
        call.emit("error", statusOf(error));
      } finally {
        context.end();
        letGo(call);
      }
    };
    void run();
  };
}

/** Writes frames until the stream ends or its reader stalls. */
async function pump(
  method: DescMethodServerStreaming,
  frames: AsyncIterator<object>,
  writer: FrameWriter<Buffer>,
  { signal }: CallContext,
  open: () => void,
): Promise<Wait> {
  try {
    for (;;) {
      const { done, value } = await frames.next();
      if (done === true || signal.aborted) return "drained";
      open();
      const going = writer.push(framed(method.output, value as Message));
      if (going !== undefined && (await going) === "stalled") return "stalled";
    }
  } finally {
    await frames.return?.();
    writer.flush();
  }
}
