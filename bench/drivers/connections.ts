/** What drivers speak through. */
import type { Format } from "./answer.ts";
import type { StreamCall, Watch } from "./stream-call.ts";

/** A call to make. */
export interface CallInit {
  readonly method: "GET" | "POST";
  /** Appended to the path of the base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A set of connections to one server. */
export interface Connections {
  call(init: CallInit, format: Format, watch?: Watch): StreamCall;
  close(): void;
}
