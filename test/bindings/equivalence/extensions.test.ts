import assert from "node:assert/strict";
import { suite } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { collect, everywhere, failureOf, nextFrame, send, sharedBed, startTask } from "../bed.ts";
import { CallFailed, type Headers, type Reply, type Stream } from "../callers/caller.ts";
import { checkFailure } from "../failures.ts";
import { call, OPERATIONS } from "../matrix/operations.ts";
import { LOG_URI } from "../resume/positions.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

const REQUIRED = "urn:example:required:v1";
const OPTIONAL = "urn:example:optional:v1";

/** The headers of a reply, of a stream or of an error. */
async function headersOf(called: Promise<unknown> | Stream): Promise<Headers> {
  try {
    if (!("next" in called)) return ((await called) as Reply).headers;
    await called.next();
    called.leave();
    return await called.headers;
  } catch (error) {
    if (error instanceof CallFailed) return error.headers;
    throw error;
  }
}

const extensions = [
  { uri: REQUIRED, required: true },
  { uri: OPTIONAL, required: false },
];

suite("an extension that the card requires", () => {
  const bed = sharedBed({}, new ScenarioAgent({ card: { capabilities: { extensions } } }));

  everywhere("R-214 R-216 R-256 is asked for by every operation", bed, async (caller) => {
    const failures = [];
    for (const operation of OPERATIONS) {
      for (const listed of [undefined, "", OPTIONAL, `${REQUIRED}.1`]) {
        const refused = call(caller, operation, operation.request("x"), { headers: { "a2a-extensions": listed } });
        failures.push(checkFailure(caller, await failureOf(refused), "EXTENSION_SUPPORT_REQUIRED"));
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

  for (const operation of OPERATIONS) {
    everywhere(`R-220 C-59 echoes what is active once, however often it is listed: ${operation.name}`, bed, async (caller) => {
      const id = await startTask(caller, "input");
      const failing = { id: "none", taskId: "none", pageSize: -1 };
      for (const request of [operation.request(id), failing]) {
        const options = { headers: { "a2a-extensions": `${OPTIONAL},urn:unknown,${OPTIONAL}` } };
        const echo = await headersOf(call(caller, operation, request, options));
        assert.equal(echo.get("a2a-extensions"), OPTIONAL);
        const without = await headersOf(call(caller, operation, operation.request(id)));
        assert.equal(without.get("a2a-extensions"), undefined);
      }
      return undefined;
    });
  }

  everywhere(
    "tells the agent what is active, and nothing else",
    bed,
    async (caller) => {
      const headers = { "a2a-extensions": `urn:unknown, ${OPTIONAL}` };
      const told = [];
      for (const options of [{ headers }, {}]) {
        for (const text of ["extensions", "reply-extensions"]) told.push((await caller.unary("SendMessage", send(text), options)).message);
      }
      const texts = told.map((message) => JSON.stringify(message).match(/active: [^"]*/)?.[0]);
      assert.deepEqual(texts, [`active: ${OPTIONAL}`, `active: ${OPTIONAL}`, "active: ", "active: "]);
      return told;
    },
    { behindFront: "the front activates what its own client uses" },
  );

  everywhere("R-210 may come in several headers of one name, and in any case of that name", bed, async (caller) => {
    const listed = ["urn:unknown", `${LOG_URI}, urn:other`, OPTIONAL];
    for (const name of ["a2a-extensions", "A2A-Extensions"]) {
      const reply = await caller.unary("SendMessage", send("complete"), { headers: { [name]: listed } });
      assert.equal(reply.headers.get("a2a-extensions"), `${OPTIONAL}, ${LOG_URI}`);
    }
    return undefined;
  });

  everywhere("R-205 R-215 has its own case: a URI that is written otherwise is another one", bed, async (caller) => {
    const reply = await caller.unary("SendMessage", send("complete"), { headers: { "a2a-extensions": OPTIONAL.toUpperCase() } });
    assert.equal(reply.headers.get("a2a-extensions"), undefined);
    return undefined;
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
