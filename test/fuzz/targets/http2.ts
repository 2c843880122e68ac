/** Raw frames of HTTP/2, on both ports. */
import { block, frame, number, OPEN, REQUEST, request } from "../../hostile/frames.ts";
import { exchange } from "../../hostile/raw-http.ts";
import { assertClean } from "../../hostile/surface.ts";
import type { Random } from "../random.ts";
import { Served } from "../served.ts";
import type { Target } from "../target.ts";

function anyFrame(random: Random): Buffer {
  const stream = random.pick([0, 1, 1, 1, 3, 5, 2, 7, 2 ** 31 - 1]);
  const flags = random.pick([0, 1, 4, 5, 8, 0x20, 0x2d, 0xff, random.below(256)]);
  switch (random.below(9)) {
    case 0:
      return request(
        random.pick([1, 3, 5, 7]),
        [...REQUEST].filter(() => random.chance(0.9)),
        flags,
      );
    case 1:
      return frame(1, flags, stream, random.mutated(block(REQUEST)));
    case 2:
      return frame(0, flags, stream, random.bytes(random.below(40)));
    case 3:
      return frame(
        4,
        random.pick([0, 1]),
        random.pick([0, 0, 0, stream]),
        Buffer.concat([Buffer.of(0, random.below(9)), number(random.below(2 ** 32))]),
      );
    case 4:
      return frame(8, 0, stream, number(random.pick([0, 1, 65_535, 2 ** 31 - 1])));
    case 5:
      return frame(3, 0, stream, number(random.below(16)));
    case 6:
      return frame(random.pick([6, 7, 2, 5, 9]), flags, stream, random.bytes(random.below(20)));
    case 7:
      return frame(
        random.below(256),
        flags,
        stream,
        random.bytes(random.below(50)),
        random.chance(0.2) ? random.below(2 ** 24) : undefined,
      );
    default:
      // A whole call in one message of five bytes and more.
      return Buffer.concat([
        request(1),
        frame(
          0,
          1,
          1,
          Buffer.concat([Buffer.of(random.pick([0, 0, 1, 255])), number(random.pick([0, 3, 2 ** 32 - 1])), random.bytes(random.below(8))]),
        ),
      ]);
  }
}

/** Whatever is sent ends its own connection at most. */
export const http2: Target = {
  name: "http2",
  async open() {
    const served = await Served.open();
    const { grpc, http } = served.server.ports;
    return {
      async input(random) {
        const frames = Buffer.concat(Array.from({ length: 1 + random.below(12) }, () => anyFrame(random)));
        const bytes = Buffer.concat([OPEN, random.chance(0.2) ? random.mutated(frames) : frames]);
        assertClean(await exchange(random.pick([grpc, http]), random.chance(0.1) ? random.mutated(bytes) : bytes, { end: true }));
      },
      check: () => served.check(),
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
};
