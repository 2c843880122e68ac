/** A position that the log has trimmed, over three bindings. */
import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Turn } from "../../../src/core/agent.ts";
import { type AgentEvent, artifact, completed, textPart } from "../../../src/core/events.ts";
import { brief, collect, everywhere, nextFrame, send, sharedBed } from "../bed.ts";
import { type Gate, ScenarioAgent } from "../scenario-agent.ts";
import { ACTIVE, idOf, offsetOf, subscribe } from "./positions.ts";

/** Yields many chunks, then waits. */
class ManyChunks extends ScenarioAgent {
  /** Gates by the id of the message. */
  readonly gates = new Map<string, Gate>();

  override async *run(turn: Turn): AsyncGenerator<AgentEvent> {
    const gate = this.gates.get(turn.message.messageId) ?? this.gate();
    for (let count = 0; count < CHUNKS; count += 1) {
      yield artifact({ artifactId: "log", parts: [textPart(`${count} `)] }, { append: count > 0, lastChunk: count === CHUNKS - 1 });
    }
    if (await gate.pass(turn)) yield completed("done");
  }
}

/** More than are kept without a checkpoint. */
const CHUNKS = 600;

suite("a position that is no longer kept", { timeout: 60_000 }, () => {
  const agent = new ManyChunks();
  const bed = sharedBed({ windowEntries: 20, windowBytes: 2000 }, agent);

  everywhere("C-35 P-3 leads to the task as it stands, and on from there without a repeat", bed, async (caller) => {
    const request = send("many");
    const { messageId } = request["message"] as { messageId: string };
    const gate = agent.gate();
    agent.gates.set(messageId, gate);
    const opened = caller.stream("SendStreamingMessage", request, { headers: ACTIVE });
    const { task } = (await nextFrame(opened)) as { task: { id: string } };
    const early = idOf(await nextFrame(opened));
    // Up to the last chunk before the gate, with gaps where this reader fell behind: by then the log has been trimmed twice.
    for (let frame = ""; !frame.includes(`"${CHUNKS - 1} "`);) frame = JSON.stringify(await nextFrame(opened));
    opened.leave();
    const resumed = subscribe(caller, task.id, early);
    const first = await nextFrame(resumed);
    assert.equal(brief(first), "task WORKING");
    gate.open();
    const { frames, end } = await collect(resumed);
    assert.equal(end, "clean");
    const { message: read } = await caller.unary("GetTask", { id: task.id });
    const text = (one: JsonObject): string[] =>
      ((one["artifacts"] ?? []) as { parts: { text: string }[] }[]).flatMap(({ parts }) => parts.map(({ text: part }) => part));
    const seen = [
      ...text(first["task"] as JsonObject),
      ...frames.flatMap(({ artifactUpdate }) =>
        artifactUpdate ? text({ artifacts: [(artifactUpdate as JsonObject)["artifact"]] } as JsonObject) : [],
      ),
    ];
    assert.deepEqual(seen, text(read));
    assert.deepEqual(
      seen,
      Array.from({ length: CHUNKS }, (_, count) => `${count} `),
    );
    const offsets = [first, ...frames].map(offsetOf);
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
    );
    return undefined;
  });
});
