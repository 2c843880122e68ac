/** What of a caller reaches the upstream, and what does not. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { toJsonString } from "@bufbuild/protobuf";
import { StreamResponseSchema, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentCardInit, CardReader } from "../../src/core/agent.ts";
import { A2AClient } from "../../src/client/index.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { FrontBed } from "./front-bed.ts";
import { asTask, begin, seen, stateName, texts } from "./tasks.ts";

const TOKENS = { tokens: { a: "ann", b: "bob" } };
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const SAME = { messageId: "m-1", contextId: "c-1", parts: [{ content: { case: "text" as const, value: "go" } }] };

suite("two callers with the same ids", () => {
  test("never meet upstream: neither their messages nor their contexts become one", async () => {
    await using bed = await ForeignBed.open();
    const ann = await bed.front(TOKENS, {}, as("a"));
    await using bob = await A2AClient.connect(`http://127.0.0.1:${ann.server.ports.http}`, as("b"));
    for (const client of [ann.client, bob]) void client.send(SAME);
    const upstream = [await bed.agent.task(1), await bed.agent.task(2)];
    const contexts = upstream.map(({ task }) => task.contextId);
    const messages = upstream.map(({ messages: [first] }) => first?.messageId);
    assert.equal(new Set(contexts).size, 2);
    assert.equal(new Set(messages).size, 2);
    for (const id of [...contexts, ...messages]) assert.match(id ?? "", /^[0-9a-f]{32}$/);
  });

  test("that one of them uses again lead to the same context", async () => {
    await using bed = await ForeignBed.open();
    const { client } = await bed.front(TOKENS, {}, as("a"));
    await begin(client, "one", "c-1");
    await begin(client, "two", "c-1");
    assert.equal((await bed.agent.task(1)).task.contextId, (await bed.agent.task(2)).task.contextId);
  });

  test("keep them where nobody tells callers apart", async () => {
    await using bed = await ForeignBed.open();
    const { client } = await bed.front();
    void client.send(SAME);
    const upstream = await bed.agent.task(1);
    assert.deepEqual([upstream.messages[0]?.messageId, upstream.task.contextId], ["m-1", "c-1"]);
  });
});

suite("repeats of one send on two replicas at once", () => {
  for (const contextId of [SAME.contextId, ""])
    test(`make one task upstream, if that knows repeats: ${contextId === "" ? "without a context" : "in a context"}`, async () => {
      await using bed = await FrontBed.open("GRPC");
      const redis = await fileRedis();
      const fronts = [await bed.front({ redis, replica: "one" }), await bed.front({ redis, replica: "two" })];
      const gate = bed.upstream.agent.gate();
      gate.open(9);
      const message = { ...SAME, contextId, parts: [{ content: { case: "text" as const, value: `chunks ${gate.name}` } }] };
      const tasks = (await Promise.all(fronts.map(({ client }) => client.send(message)))).map(asTask);
      assert.equal(tasks[0]?.id, tasks[1]?.id);
      for (const task of tasks) assert.deepEqual([stateName(task), texts(task)], ["COMPLETED", ["one ", "two ", "three"]]);
      const upstream = await bed.upstreamTasks();
      assert.deepEqual(
        upstream.map((task) => stateName(task)),
        ["COMPLETED"],
      );
    });

  test("make one that goes on, if that does not: what was begun beside it is canceled", async () => {
    await using bed = await ForeignBed.open();
    const redis = await fileRedis();
    const fronts = [await bed.front({ redis, replica: "one" }), await bed.front({ redis, replica: "two" })];
    const both = Promise.withResolvers<void>();
    bed.agent.onSend = async () => {
      if (bed.agent.sends.length === 2) both.resolve();
      await both.promise;
    };
    const runs = fronts.map(({ client }) => client.send(SAME));
    await bed.agent.until(({ cancels }) => cancels.length === 1);
    const goesOn = [...bed.agent.tasks.values()].find(({ state }) => state !== TaskState.CANCELED);
    goesOn?.chunk("once");
    goesOn?.status(TaskState.COMPLETED);
    for (const task of (await Promise.all(runs)).map(asTask)) assert.deepEqual([stateName(task), texts(task)], ["COMPLETED", ["once"]]);
  });

  test("make one at all, where nothing is sent before it is stored", async () => {
    await using bed = await ForeignBed.open();
    const redis = await fileRedis();
    const fronts = [
      await bed.front({ redis, replica: "one" }, { firstWordMs: 0 }),
      await bed.front({ redis, replica: "two" }, { firstWordMs: 0 }),
    ];
    const runs = fronts.map(({ client }) => client.send(SAME));
    (await bed.agent.task(1)).status(TaskState.COMPLETED);
    const ids = (await Promise.all(runs)).map((reply) => asTask(reply).id);
    assert.equal(ids[0], ids[1]);
    assert.equal(bed.agent.sends.length, 1);
  });
});

test("a caller that leaves before the first word finds its task, and the upstream's is not begun again", async () => {
  await using bed = await ForeignBed.open();
  const { client } = await bed.front();
  const go = Promise.withResolvers<void>();
  bed.agent.onSend = async () => go.promise;
  const leaving = new AbortController();
  const left = client.send(SAME, { signal: leaving.signal });
  await bed.agent.until(({ sends }) => sends.length === 1);
  leaving.abort();
  await assert.rejects(async () => left);
  go.resolve();
  const upstream = await bed.agent.task(1);
  const again = client.send(SAME);
  upstream.status(TaskState.COMPLETED);
  assert.equal(stateName(asTask(await again)), "COMPLETED");
  assert.equal(bed.agent.sends.length, 1);
});

test("references to tasks of ours name those of the upstream; what it knows nothing of is left out", async () => {
  await using bed = await ForeignBed.open();
  const { client } = await bed.front();
  const id = await begin(client, "one");
  await bed.agent.task(1);
  void client.send({ ...SAME, referenceTaskIds: [id, "unknown"] });
  assert.deepEqual((await bed.agent.task(2)).messages[0]?.referenceTaskIds, ["f-1"]);
});

suite("header fields and extensions", () => {
  const SECRET = "Bearer s3cret-of-ann";
  const EXTENSION = "urn:example:thing:v1";

  test("reach the upstream if they are allowed to, with every call of the task, and nobody else sees them", async () => {
    const extensions = [{ uri: EXTENSION }, { uri: "urn:example:other:v1" }];
    await using bed = await ForeignBed.open({ capabilities: { extensions } });
    const logged: string[] = [];
    const log = (facts: object, message: string) => void logged.push(JSON.stringify(facts) + message);
    const front = await bed.front(
      { forwardHeaders: ["authorization", "x-trace"], log: { info: log, warn: log, error: log } },
      { extensions: [EXTENSION], forwardHeaders: ["authorization", "x-trace"] },
      { headers: { authorization: SECRET, "x-trace": "t-1", "x-other": "o" }, extensions: [EXTENSION, "urn:example:other:v1"] },
    );
    const calls: [string, string | null][] = [];
    const called = Promise.withResolvers<void>();
    bed.agent.onCall = async (method, { requestHeader }) => {
      calls.push([method, requestHeader.get("authorization")]);
      called.resolve();
    };
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    const { headers } = bed.agent.sends[0] ?? assert.fail("nothing was sent");
    assert.deepEqual(
      ["authorization", "x-trace", "x-other", "a2a-extensions"].map((name) => headers.get(name)),
      [SECRET, "t-1", null, EXTENSION],
    );
    upstream.chunk("one ");
    await seen(front.client, id, (task) => texts(task).length === 1);
    bed.proxy.cut();
    await called.promise;
    upstream.status(TaskState.INPUT_REQUIRED, "which?");
    const run = front.client.follow(id);
    const shown: string[] = [];
    for await (const { event } of run)
      shown.push(toJsonString(StreamResponseSchema, { $typeName: "lf.a2a.v1.StreamResponse", payload: event }));
    await front.client.cancelTask(id);
    await bed.agent.until(({ cancels }) => cancels.length === 1);
    for (const [method, authorization] of calls) assert.equal(authorization, SECRET, method);
    shown.push(toJsonString(TaskSchema, await front.client.getTask(id)));
    for (const task of (await front.client.listTasks({ includeArtifacts: true })).tasks) shown.push(toJsonString(TaskSchema, task));
    for (const text of [...shown, ...logged, JSON.stringify(front.server.card)]) assert.ok(!text.includes("s3cret"), text);
  });

  test("that the upstream's binding cannot carry are the caller's fault, and keep nobody waiting", async () => {
    await using bed = await FrontBed.open("GRPC");
    const forwardHeaders = ["x-user"];
    const { server } = await bed.front({ forwardHeaders }, { forwardHeaders });
    const response = await fetch(`http://127.0.0.1:${server.ports.http}/message:send`, {
      method: "POST",
      headers: { "a2a-version": "1.0", "content-type": "application/json", "x-user": "J\u00f6rg" },
      body: JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "complete" }] } }),
    });
    const body = await response.text();
    assert.equal(response.status, 400, body);
    assert.ok(body.includes("x-user") && !body.includes('rg"'), body);
  });

  test("of an answer reach the upstream with the answer and all that comes after it, and so does its metadata", async () => {
    await using bed = await ForeignBed.open();
    const forwardHeaders = ["authorization"];
    const front = await bed.front({ forwardHeaders }, { forwardHeaders }, { headers: { authorization: "Bearer old" } });
    const id = await begin(front.client, "go");
    const upstream = await bed.agent.task(1);
    upstream.status(TaskState.INPUT_REQUIRED, "which?");
    await seen(front.client, id, (task) => stateName(task) === "INPUT_REQUIRED");
    const calls: (string | null)[] = [];
    const fresh = { headers: { authorization: "Bearer new" }, metadata: { n: 2 } };
    const run = front.client.send("this one", { taskId: id, ...fresh });
    await bed.agent.until(({ sends }) => sends.length === 2);
    const { headers, metadata } = bed.agent.sends[1] ?? assert.fail("nothing was sent");
    assert.deepEqual([headers.get("authorization"), metadata], ["Bearer new", { n: 2 }]);
    const again = Promise.withResolvers<void>();
    bed.agent.onCall = async (_method, { requestHeader }) => {
      calls.push(requestHeader.get("authorization"));
      again.resolve();
    };
    bed.proxy.cut();
    await again.promise;
    upstream.status(TaskState.COMPLETED);
    assert.equal(stateName(asTask(await run)), "COMPLETED");
    assert.deepEqual([...new Set(calls)], ["Bearer new"]);
  });

  test("that are not allowed to do not, and the card says nothing of them", async () => {
    const extensions = [{ uri: EXTENSION }];
    await using bed = await ForeignBed.open({ capabilities: { extensions } });
    const front = await bed.front({}, {}, { headers: { authorization: SECRET }, extensions: [EXTENSION] });
    await begin(front.client, "go");
    const { headers } = bed.agent.sends[0] ?? assert.fail("nothing was sent");
    assert.deepEqual([headers.get("authorization"), headers.get("a2a-extensions")], [null, null]);
    const card = JSON.stringify(front.server.card);
    assert.ok(!card.includes(EXTENSION));
  });

  test("that the upstream requires and the front does not hand on are an error at once", async () => {
    await using bed = await ForeignBed.open({ capabilities: { extensions: [{ uri: EXTENSION, required: true }] } });
    await assert.rejects(() => bed.front(), /requires extensions that are not handed on: urn:example:thing:v1/);
    await bed.front({}, { extensions: [EXTENSION] });
  });
});

suite("the extended card", () => {
  class Extended extends ScenarioAgent {
    override async extendedCard({ principal }: CardReader): Promise<AgentCardInit | undefined> {
      if (principal === "nobody") return undefined;
      return { ...this.card, description: `for ${principal}` };
    }
  }
  const upstreamTokens = { tokens: { f: "the-front", a: "ann", n: "nobody" } };

  test("is what the upstream shows to the front", async () => {
    await using bed = await FrontBed.open("GRPC", upstreamTokens, new Extended());
    const front = await bed.front(TOKENS, { client: as("f") }, as("a"));
    const card = await front.client.extendedCard();
    assert.equal(card.description, "for the-front");
    assert.deepEqual(card.supportedInterfaces, front.server.card.supportedInterfaces);
  });

  test("is what the upstream shows to the caller, where credentials are handed on", async () => {
    await using bed = await FrontBed.open("GRPC", upstreamTokens, new Extended());
    const tokens = { a: "ann", n: "nobody" };
    const forwardHeaders = ["authorization"];
    const front = await bed.front({ tokens, forwardHeaders }, { client: as("f"), forwardHeaders }, as("a"));
    assert.equal((await front.client.extendedCard()).description, "for ann");
    await using nobody = await A2AClient.connect(`http://127.0.0.1:${front.server.ports.http}`, as("n"));
    await assert.rejects(() => nobody.extendedCard(), { reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED" });
  });

  test("is not promised where the upstream has none", async () => {
    await using bed = await ForeignBed.open();
    const front = await bed.front(TOKENS, {}, as("a"));
    assert.equal(front.server.card.capabilities?.extendedAgentCard, false);
  });
});
