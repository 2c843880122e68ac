/**
 * Connections of HTTP/2 in clear text, spoken directly on node:http2. A full client spends more CPU on a message than a server that passes
 * stored bytes through, and would be the limit of what is measured.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { Answer } from "./answer.ts";
import type { Connections } from "./connections.ts";
import { VERSION_HEADER } from "./driver.ts";
import { StreamCall } from "./stream-call.ts";

const WINDOW = 4 * 1024 * 1024;

/** Calls to `base`, `http://host:port`, are spread over `count` connections. */
export function http2Connections(base: string, count: number): Connections {
  const sessions = Array.from({ length: count }, () => openSession(base));
  let turn = 0;
  return {
    call: ({ method, path, headers, body }, format, watch) => {
      const session = sessions[turn++ % sessions.length] as ClientHttp2Session;
      const stream = session.request({ ":method": method, ":path": path, ...headers, ...VERSION_HEADER });
      const call = new StreamCall(() => stream.close(constants.NGHTTP2_CANCEL), watch);
      stream.end(body);
      read(stream, new Answer(call, format));
      return call;
    },
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
}

function openSession(base: string): ClientHttp2Session {
  const session = connect(base, { settings: { enablePush: false, initialWindowSize: WINDOW } });
  session.once("connect", () => session.setLocalWindowSize(WINDOW));
  // Each stream of the session reports the failure itself.
  session.on("error", () => {});
  return session;
}

function read(stream: ClientHttp2Stream, answer: Answer): void {
  let last: IncomingHttpHeaders = {};
  stream.on("response", (headers) => {
    last = headers;
    answer.head(Number(headers[":status"]), headers["content-type"] ?? "");
  });
  stream.on("trailers", (trailers: IncomingHttpHeaders) => {
    last = trailers;
  });
  stream.on("data", (chunk: Buffer) => answer.body(chunk));
  stream.once("end", () => answer.end(last));
  stream.once("error", (error) => answer.fail(error));
  stream.once("close", () => {
    if (!stream.readableEnded) answer.fail(new Error(`the stream was closed with code ${stream.rstCode}`));
  });
}
