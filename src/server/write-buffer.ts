/**
 * One buffer for all that protobuf-es encodes. Its writers begin with 128 bytes each, double them as they go, and copy the result out in the end: a
 * third of what encoding a small message costs is those buffers, and as much again is collecting them.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire";

/** Messages that are larger get buffers of their own. */
const BYTES = 8 * 1024;

/** What a writer keeps to itself; a test holds this against the pinned version. */
interface Writer {
  buffer: Uint8Array;
  viewCache: DataView;
  pos: number;
  stackPos: number[];
  ensureCapacity(size: number): void;
  finish(): Uint8Array;
}

const none = new Uint8Array(0);
const noView = new DataView(none.buffer);
/** Undefined while a writer has it. One that breaks off never gives it back, and the next one makes another. */
let free: Uint8Array | undefined = new Uint8Array(BYTES);
let shared = false;

/** Makes the writers of this process take turns with one buffer. What they answer stays the same. To be called by who owns the process. */
export function shareWriteBuffer(): void {
  if (shared) return;
  shared = true;
  const writer = BinaryWriter.prototype as unknown as Writer;
  // oxlint-disable-next-line typescript/unbound-method
  const { ensureCapacity } = writer;
  writer.ensureCapacity = function take(size) {
    const { buffer } = this;
    if (buffer.length === 0 && size <= BYTES) {
      this.buffer = free ?? new Uint8Array(BYTES);
      free = undefined;
      return;
    }
    ensureCapacity.call(this, size);
    // It has outgrown it.
    if (buffer.length === BYTES && this.buffer !== buffer) free = buffer;
  };
  writer.finish = giveBack;
}

/** What is written, and the buffer to the next writer. */
function giveBack(this: Writer): Uint8Array {
  const { buffer } = this;
  const result = buffer.slice(0, this.pos);
  this.pos = 0;
  this.stackPos = [];
  if (buffer.length !== BYTES) return result;
  free = buffer;
  this.buffer = none;
  this.viewCache = noView;
  return result;
}
