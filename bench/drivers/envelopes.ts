/** Messages in envelopes: a byte of flags, four bytes of length, the message. */
import type { IncomingHttpHeaders } from "node:http2";
import type { Format } from "./answer.ts";

const PREFIX = 5;
const NOTHING = Buffer.alloc(0);

/** How answers in envelopes are read. */
export interface Enveloped {
  readonly contentType: string;
  /** Flag of the envelope that holds no message but says how the call has ended; 0 where the trailers say that. */
  readonly lastFlag: number;
  /** Says what was wrong with a call that ended so; `last` is what that envelope holds, empty where none came. */
  readonly verdict: (last: string, trailers: IncomingHttpHeaders) => string | undefined;
}

/** An envelope with nothing but the message. */
export function enclose(message: Uint8Array): Buffer {
  const body = Buffer.alloc(PREFIX + message.length);
  body.writeUInt32BE(message.length, 1);
  body.set(message, PREFIX);
  return body;
}

/** Each message is a frame. */
export function enveloped({ contentType, lastFlag, verdict }: Enveloped): Format {
  return {
    contentType,
    read: (call) => {
      let rest: Buffer = NOTHING;
      let last = "";
      let wrong: string | undefined;
      return {
        feed: (chunk) => {
          const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
          let at = 0;
          while (bytes.length >= at + PREFIX) {
            const from = at + PREFIX;
            const to = from + bytes.readUInt32BE(at + 1);
            if (bytes.length < to) break;
            if (bytes[at] === 0) call.frame(bytes, from, to);
            else if (bytes[at] === lastFlag) last = bytes.toString("utf8", from, to);
            else wrong ??= `an envelope with the flags ${bytes[at]}`;
            at = to;
          }
          rest = at === bytes.length ? NOTHING : bytes.subarray(at);
        },
        end: (trailers) => {
          if (rest.length > 0) wrong ??= `the answer ends ${rest.length} bytes into an envelope`;
          return wrong ?? verdict(last, trailers);
        },
      };
    },
  };
}
