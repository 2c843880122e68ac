import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { collect, everywhere, failureOf, nextFrame, send, sharedBed } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

const REQUIRED = "urn:example:required:v1";
const OPTIONAL = "urn:example:optional:v1";
/** Whatever an operation may want in its path. */
const ids = { id: "x", taskId: "x" };
const extensions = [
  { uri: REQUIRED, required: true },
  { uri: OPTIONAL, required: false },
];

suite("an extension that the card requires", () => {
  const bed = sharedBed({}, new ScenarioAgent({ card: { capabilities: { extensions } } }));

  everywhere("R-214 R-216 R-256 is asked for by every operation", bed, async (caller) => {
    const failures = [];
    for (const { name, methodKind } of A2AService.methods) {
      for (const listed of [undefined, "", OPTIONAL, `${REQUIRED}.1`]) {
        const options = { headers: { "a2a-extensions": listed } };
        const call = methodKind === "server_streaming" ? caller.stream(name, ids, options) : caller.unary(name, ids, options);
        failures.push(checkFailure(caller, await failureOf(call), "EXTENSION_SUPPORT_REQUIRED"));
      }
    }
    assert.equal(failures[0]?.metadata["extension"], REQUIRED);
    return failures;
  });

  everywhere("R-210 R-220 lets a call through that lists it; a bad version comes first", bed, async (caller) => {
    const headers = { "a2a-extensions": `urn:x, ${REQUIRED}` };
    const reply = await caller.unary("SendMessage", send("complete"), { headers });
    assert.equal(reply.headers.get("a2a-extensions"), REQUIRED);
    const failure = await failureOf(caller.unary("ListTasks", {}, { headers: { "a2a-version": "0.3" } }));
    return [reply.message, checkFailure(caller, failure, "VERSION_NOT_SUPPORTED")];
  });
});

suite("A2A-Extensions", () => {
  const bed = sharedBed({}, new ScenarioAgent({ card: { capabilities: { extensions: [{ uri: OPTIONAL }] } } }));

  everywhere("R-206 R-207 R-208 R-209 R-220 C-59 echoes what is active, on replies, streams and errors", bed, async (caller) => {
    const headers = { "a2a-extensions": `urn:unknown,${OPTIONAL} , ,` };
    const reply = await caller.unary("SendMessage", send("complete"), { headers });
    const stream = caller.stream("SendStreamingMessage", send("complete"), { headers });
    await collect(stream);
    const failed = caller.unary("GetTask", { id: "none" }, { headers });
    const echoes = [reply.headers, await stream.headers, await failed.catch((error: { headers: Map<string, string> }) => error.headers)];
    for (const echo of echoes) assert.equal((echo as Map<string, string>).get("a2a-extensions"), OPTIONAL);
    return undefined;
  });

  everywhere("tells the agent what is active, and nothing else", bed, async (caller) => {
    const headers = { "a2a-extensions": `urn:unknown, ${OPTIONAL}` };
    const told = [];
    for (const options of [{ headers }, {}]) {
      for (const text of ["extensions", "reply-extensions"]) told.push((await caller.unary("SendMessage", send(text), options)).message);
    }
    const texts = told.map((message) => JSON.stringify(message).match(/active: [^"]*/)?.[0]);
    assert.deepEqual(texts, [`active: ${OPTIONAL}`, `active: ${OPTIONAL}`, "active: ", "active: "]);
    return told;
  });

  everywhere("R-215 R-217 passes over what is unknown and echoes nothing then", bed, async (caller) => {
    for (const listed of ["urn:unknown", "", `${OPTIONAL}x`]) {
      const reply = await caller.unary("SendMessage", send("complete"), { headers: { "a2a-extensions": listed } });
      assert.equal(reply.headers.get("a2a-extensions"), undefined);
    }
    return undefined;
  });

  everywhere("R-213 R-226 changes nothing in a stream that does not ask for positions", bed, async (caller) => {
    const stream = caller.stream("SendStreamingMessage", send("complete"), { headers: { "last-event-id": "x/1.00000000" } });
    const { task } = (await nextFrame(stream)) as { task: JsonObject };
    assert.equal(task["metadata"], undefined);
    return (await collect(stream)).frames;
  });
});
