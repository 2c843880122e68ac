import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  block,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  number,
  OPEN,
  PING,
  PUSH_PROMISE,
  REQUEST,
  request,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from "./frames.ts";
import { assertServes, type HostileBed, sharedHostileBed } from "./bed.ts";
import { exchange } from "./raw-http.ts";
import { assertClean } from "./surface.ts";

const many = (count: number, make: (at: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));
const without = (name: string): Parameters<typeof block>[0] => REQUEST.filter(([one]) => one !== name);

const ATTACKS: Readonly<Record<string, Buffer>> = {
  "bytes that are no frame": Buffer.alloc(5000, 0xff),
  text: Buffer.from("GET / HTTP/1.1\r\n\r\n"),
  "a frame that is longer than any may be": frame(DATA, 0, 1, Buffer.alloc(100), 2 ** 24 - 1),
  "a frame of a type that nobody knows": frame(0xee, 0xff, 1, Buffer.alloc(10)),
  "data on no stream": frame(DATA, 0, 0, Buffer.alloc(10)),
  "data on a stream that is not open": frame(DATA, 0, 7, Buffer.alloc(10)),
  "headers on a stream of the server's": request(2),
  "headers on a stream that was before": Buffer.concat([request(5), request(3)]),
  "headers that no table explains": frame(HEADERS, END_HEADERS, 1, Buffer.alloc(100, 0xff)),
  "headers that are cut": frame(HEADERS, END_HEADERS, 1, block(REQUEST).subarray(0, -3)),
  "headers without a path": request(1, without(":path"), END_HEADERS | END_STREAM),
  "headers without a verb": request(1, without(":method"), END_HEADERS | END_STREAM),
  "a header in capitals": request(1, [...REQUEST, ["X-Upper", "1"]], END_HEADERS | END_STREAM),
  "a header with a line break": request(1, [...REQUEST, ["x", "a\r\nx-injected: yes"]], END_HEADERS | END_STREAM),
  "a header of a connection": request(1, [...REQUEST, ["connection", "close"]], END_HEADERS | END_STREAM),
  "two paths": request(1, [[":path", "/"], ...REQUEST], END_HEADERS | END_STREAM),
  "a length that is not that of the body": Buffer.concat([
    request(1, [...REQUEST, ["content-length", "10"]]),
    frame(DATA, END_STREAM, 1, Buffer.alloc(5)),
  ]),
  "headers that go on for ever": Buffer.concat([
    request(1, REQUEST, 0),
    many(2000, () => frame(CONTINUATION, 0, 1, block([["x", "y".repeat(100)]]))),
  ]),
  "headers with something between": Buffer.concat([request(1, REQUEST, 0), frame(PING, 0, 0, Buffer.alloc(8))]),
  "a promise": frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([number(2), block(REQUEST)])),
  "a window that grows beyond all bounds": many(3, () => frame(WINDOW_UPDATE, 0, 0, number(2 ** 31 - 1))),
  "a window that does not grow": frame(WINDOW_UPDATE, 0, 0, number(0)),
  "settings that cannot be": frame(SETTINGS, 0, 0, Buffer.from("000400000000000500000000", "hex")),
  "settings of half a length": frame(SETTINGS, 0, 0, Buffer.alloc(5)),
  "thousands of settings": many(5000, () => frame(SETTINGS, 0, 0, Buffer.alloc(0))),
  "thousands of pings": many(20_000, () => frame(PING, 0, 0, Buffer.alloc(8))),
  "thousands of calls that are left at once": many(3000, (at) =>
    Buffer.concat([request(2 * at + 1), frame(RST_STREAM, 0, 2 * at + 1, number(8))]),
  ),
  "thousands of empty pieces": Buffer.concat([request(1), many(20_000, () => frame(DATA, 0, 1, Buffer.alloc(0)))]),
  "more calls than are taken": many(3000, (at) => request(2 * at + 1)),
  "a goodbye with a lie": frame(GOAWAY, 0, 0, Buffer.concat([number(2 ** 31 - 1), number(0xffff_ffff), Buffer.alloc(1000, 0x78)])),
};

const PORTS: Readonly<Record<string, (bed: HostileBed) => number>> = {
  "the gRPC port": (bed) => bed.server.ports.grpc,
  "the HTTP port": (bed) => bed.server.ports.http,
};

for (const [name, portOf] of Object.entries(PORTS)) {
  suite(`frames of HTTP/2 that no client sends, on ${name}`, () => {
    const bed = sharedHostileBed();
    for (const [attack, frames] of Object.entries(ATTACKS)) {
      test(`end their own connection at most: ${attack}`, async () => {
        const received = await exchange(portOf(bed()), Buffer.concat([OPEN, frames]), { end: true });
        assertClean(received);
        for (const surface of bed().binary) await assertServes(surface);
        assert.equal(bed().server.state, "serving");
      });
    }
  });
}
