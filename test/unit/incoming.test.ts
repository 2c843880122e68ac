import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Incoming } from "../../src/bindings/incoming.ts";

/** A stream of numbers that are written as text, with what its source was told. */
function stream(): { frames: Incoming<string, number>; told: string[] } {
  const told: string[] = [];
  const source = { pause: () => void told.push("pause"), resume: () => void told.push("resume"), cancel: () => void told.push("cancel") };
  const decode = (text: string): number => {
    const number = Number(text);
    if (Number.isNaN(number)) throw new TypeError(`no number: ${text}`);
    return number;
  };
  return { frames: new Incoming(source, decode), told };
}

const DONE = { done: true, value: undefined };
const frame = (value: number): object => ({ done: false, value });

suite("frames that are pushed and pulled", () => {
  test("come in order, whether the reader waits for them or they for the reader", async () => {
    const { frames, told } = stream();
    const waiting = [frames.next(), frames.next()];
    for (const text of ["1", "2", "3"]) frames.push(text);
    frames.end("clean");
    assert.deepEqual(await Promise.all([...waiting, frames.next(), frames.next(), frames.next()]), [
      frame(1),
      frame(2),
      frame(3),
      DONE,
      DONE,
    ]);
    assert.deepEqual(told, []);
  });

  test("are read before an error that came after them, which is told once", async () => {
    const { frames } = stream();
    frames.push("1");
    frames.end({ error: new Error("cut") });
    frames.push("2");
    assert.deepEqual(await frames.next(), frame(1));
    await assert.rejects(frames.next(), /cut/);
    assert.deepEqual(await frames.next(), DONE);
  });

  test("are dropped where the call is given up, and whoever waits is told", async () => {
    const { frames, told } = stream();
    frames.push("1");
    frames.abort(new Error("given up"));
    await assert.rejects(frames.next(), /given up/);
    assert.deepEqual([await frames.next(), told], [DONE, ["cancel"]]);
    const other = stream();
    const waiting = [other.frames.next(), other.frames.next()];
    other.frames.abort(new Error("given up"));
    await assert.rejects(Promise.race(waiting), /given up/);
    assert.deepEqual(await waiting[1], DONE);
  });

  test("stop the source of a reader that is behind, and let it go on", async () => {
    const { frames, told } = stream();
    for (let at = 0; at < 200; at++) frames.push(String(at));
    assert.deepEqual(told, ["pause"]);
    for (let at = 0; at < 200; at++) assert.deepEqual(await frames.next(), frame(at));
    assert.deepEqual(told, ["pause", "resume"]);
  });

  test("that cannot be decoded end the stream and leave the source", async () => {
    for (const early of [true, false]) {
      const { frames, told } = stream();
      const waiting = early ? frames.next() : undefined;
      frames.push("x");
      frames.push("1");
      await assert.rejects(waiting ?? frames.next(), /no number: x/);
      assert.deepEqual([await frames.next(), told], [DONE, ["cancel"]]);
      await frames.ended;
    }
  });

  test("are no more when their reader has left", async () => {
    const { frames, told } = stream();
    frames.push("1");
    const [first] = [await frames.next()];
    const waiting = frames.next();
    assert.deepEqual([first, await frames.return(), await waiting], [frame(1), DONE, DONE]);
    frames.push("2");
    assert.deepEqual([await frames.next(), told], [DONE, ["cancel"]]);
    await frames.ended;
    const other = stream();
    await assert.rejects(other.frames.throw(new Error("mine")), /mine/);
    assert.deepEqual([await other.frames.next(), other.told], [DONE, ["cancel"]]);
  });

  test("have ended when nothing more comes, though some wait", async () => {
    const { frames } = stream();
    frames.push("1");
    frames.end("clean");
    await frames.ended;
    assert.deepEqual(await frames.next(), frame(1));
  });
});
