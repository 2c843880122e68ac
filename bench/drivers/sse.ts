/** The least that reads server-sent events of one `data:` line each: finds the lines, decodes nothing. */

const LINE_FEED = 0x0a;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const FIELD = "data: ".length;
const NOTHING = Buffer.alloc(0);

/** Answers a function to feed with chunks; `onData` gets the place of each `data:` line's value, `onError` the line of an error event. */
export function sseReader(
  onData: (chunk: Buffer, from: number, to: number) => void,
  onError: (line: string) => void,
): (chunk: Buffer) => void {
  let rest: Buffer = NOTHING;
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (;;) {
      const end = bytes.indexOf(LINE_FEED, at);
      if (end === -1) break;
      // Of the field names that either server writes only "data" begins with a d, only "event" with an e.
      if (bytes[at] === LETTER_D) onData(bytes, at + FIELD, end);
      else if (bytes[at] === LETTER_E) onError(bytes.toString("utf8", at, end));
      at = end + 1;
    }
    rest = at === bytes.length ? NOTHING : bytes.subarray(at);
  };
}
