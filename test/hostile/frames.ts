/** Frames of HTTP/2 by hand, good and bad. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
/** Types and flags of frames (RFC 9113, 6). */
export const [DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = [0, 1, 3, 4, 5, 6, 7, 8, 9];
export const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type: number, flags: number, stream: number, payload: Uint8Array, length: number = payload.length): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block without compression. */
export function block(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.of(Buffer.byteLength(value)), Buffer.from(value)]);
  return Buffer.concat(headers.map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)])));
}

export const REQUEST = [
  [":method", "POST"],
  [":scheme", "http"],
  [":authority", "h"],
  [":path", "/lf.a2a.v1.A2AService/ListTasks"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
] as const;

export const OPEN = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0))]);
export const request = (stream: number, headers: Parameters<typeof block>[0] = REQUEST, flags = END_HEADERS): Buffer =>
  frame(HEADERS, flags, stream, block(headers));
export const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
