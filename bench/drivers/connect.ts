/** Connect with the binary codec, over HTTP/2. */
import { wholeBody } from "./answer.ts";
import type { Driver } from "./driver.ts";
import { enclose, enveloped } from "./envelopes.ts";
import { http2Connections } from "./http2.ts";
import { protobufDriver, type Wire } from "./protobuf.ts";

const VERSION = { "connect-protocol-version": "1" } as const;

const UNARY: Wire = { headers: { ...VERSION, "content-type": "application/proto" }, enclose: (message) => message, answer: wholeBody };

const STREAMING: Wire = {
  headers: { ...VERSION, "content-type": "application/connect+proto" },
  enclose,
  answer: enveloped({
    contentType: "application/connect+proto",
    lastFlag: 2,
    verdict: (last) =>
      last !== "" && !("error" in (JSON.parse(last) as object)) ? undefined : `the stream ended with ${last || "nothing"}`,
  }),
};

/** A driver that spreads its calls over `connections` connections. */
export function connectDriver(url: string, connections: number): Driver {
  return protobufDriver(http2Connections(url, connections), UNARY, STREAMING);
}
