/** A script: its text and the SHA1 of it. EVALSHA is sent first, on NOSCRIPT the text. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

/** An argument of a command; numbers are sent as their decimal text, bytes as they are. */
export type Arg = string | number | Buffer | Uint8Array;

/** Replies: integers are numbers, bulk and status strings are Buffers, null is null, arrays nest (RESP2 shapes). */
export type Reply = number | Buffer | string | null | readonly Reply[];

/** One command. */
export type Call = readonly [command: string, ...args: Arg[]];
