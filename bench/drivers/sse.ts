/** The least that reads server-sent events of one `data:` line each: finds the lines, decodes nothing. */
import type { Format } from "./answer.ts";

const LINE_FEED = 0x0a;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const FIELD = "data: ".length;
const NOTHING = Buffer.alloc(0);

/** Each value of `data:` is a frame; an error event is what is wrong with the answer. */
export const eventStream: Format = {
  contentType: "text/event-stream",
  read: (call) => {
    let rest: Buffer = NOTHING;
    let wrong: string | undefined;
    return {
      feed: (chunk) => {
        const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
        let at = 0;
        for (;;) {
          const end = bytes.indexOf(LINE_FEED, at);
          if (end === -1) break;
          // Of the field names that either server writes only "data" begins with a d, only "event" with an e.
          if (bytes[at] === LETTER_D) call.frame(bytes, at + FIELD, end);
          else if (bytes[at] === LETTER_E) wrong ??= `the stream says ${bytes.toString("utf8", at, end)}`;
          at = end + 1;
        }
        rest = at === bytes.length ? NOTHING : bytes.subarray(at);
      },
      end: () => wrong,
    };
  },
};
