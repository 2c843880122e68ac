/** Where a front finds its upstream, and what its own card says of it. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { A2AClient } from "../../src/client/index.ts";
import { serve } from "../../src/server/serve.ts";
import { upstreamAgent } from "../../src/upstream/index.ts";
import { openBed } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";
import { freePort } from "../redis/free-port.ts";
import { ForeignBed } from "./foreign-bed.ts";
import { FrontBed, QUIET } from "./front-bed.ts";
import { asTask, begin, stateName } from "./tasks.ts";

suite("an upstream at host:port", () => {
  for (const [what, name] of [
    ["grpc", undefined],
    ["http", "scenarios"],
  ] as const) {
    test(`is found by its ${what} port`, async () => {
      await using bed = await openBed();
      await using agent = await upstreamAgent(`127.0.0.1:${bed.server.ports[what]}`);
      assert.equal(agent.card.name, name ?? `127.0.0.1:${bed.server.ports.grpc}`);
      await using server = await serve({ ...QUIET, agent });
      await using client = await A2AClient.connect(`http://127.0.0.1:${server.ports.http}`);
      assert.equal(stateName(asTask(await client.send("complete"))), "COMPLETED");
    });
  }

  test("that tells its card only to those it knows is known by that", async () => {
    class Known extends ScenarioAgent {
      override extendedCard = async () => ({ ...this.card, name: "known to some" });
    }
    await using bed = await openBed({ tokens: { f: "front" } }, new Known());
    await using agent = await upstreamAgent(`127.0.0.1:${bed.server.ports.grpc}`, { client: { headers: { authorization: "Bearer f" } } });
    assert.equal(agent.card.name, "known to some");
  });

  test("that is no agent, or where nobody listens, is an error", async () => {
    await using bed = await openBed();
    await assert.rejects(() => upstreamAgent(`127.0.0.1:${bed.server.ports.ops}`), /neither an agent card nor an agent that speaks A2A/);
    const port = await freePort();
    await assert.rejects(() => upstreamAgent(`127.0.0.1:${port}`), /ECONNREFUSED/);
  });
});

suite("the card of a front", () => {
  test("says of the agent what the upstream's says, and its own interfaces", async () => {
    const card = { provider: { organization: "o", url: "https://o.example" }, documentationUrl: "https://d.example", version: "7" };
    const skills = [{ id: "s", name: "S", description: "does s", tags: ["t"], examples: ["do s"] }];
    await using bed = await FrontBed.open("GRPC", {}, new ScenarioAgent({ card: { ...card, skills, defaultInputModes: ["text/x"] } }));
    const { server } = await bed.front();
    const { upstream } = bed;
    for (const name of ["name", "description", "version", "provider", "documentationUrl", "skills", "defaultInputModes"] as const)
      assert.deepEqual(server.card[name], upstream.server.card[name], name);
    const urls = server.card.supportedInterfaces.map(({ url }) => url);
    assert.ok(urls.every((url) => url.includes(`:${server.ports.http}`) || url.includes(`:${server.ports.grpc}`)));
    const uris = server.card.capabilities?.extensions.map(({ uri }) => uri) ?? [];
    assert.equal(new Set(uris).size, uris.length);
  });

  test("says of credentials what the upstream does where they are handed on, and nothing where they are not", async () => {
    await using bed = await FrontBed.open("GRPC", { tokens: { a: "ann" } });
    const client = { headers: { authorization: "Bearer a" } };
    const forwardHeaders = ["authorization"];
    const [passing, other] = [await bed.front({ forwardHeaders }, { client, forwardHeaders }), await bed.front({}, { client })];
    assert.deepEqual(Object.keys(passing.server.card.securitySchemes), Object.keys(bed.upstream.server.card.securitySchemes));
    assert.deepEqual(Object.keys(other.server.card.securitySchemes), []);
  });
});

suite("callers whose credentials only the upstream judges", () => {
  test("see their own tasks only, and are told what the upstream tells those without", async () => {
    await using bed = await ForeignBed.open();
    const forwardHeaders = ["authorization"];
    await using agent = await upstreamAgent(bed.agent.card(), { forwardHeaders });
    assert.ok(agent.authenticate !== undefined);
    await using server = await serve({ ...QUIET, agent, forwardHeaders, authenticate: agent.authenticate });
    const connect = (authorization?: string) =>
      A2AClient.connect(`http://127.0.0.1:${server.ports.http}`, { headers: { ...(authorization && { authorization }) } });
    await using ann = await connect("Bearer of-ann");
    await using bob = await connect("Bearer of-bob");
    await using nobody = await connect();
    const id = await begin(ann, "go");
    assert.equal((await ann.listTasks()).tasks.length, 1);
    for (const other of [bob, nobody]) {
      assert.equal((await other.listTasks()).tasks.length, 0);
      await assert.rejects(() => other.getTask(id), { reason: "TASK_NOT_FOUND" });
    }
  });

  test("are told that they need some", async () => {
    await using bed = await FrontBed.open("GRPC", { tokens: { a: "ann" } });
    const forwardHeaders = ["authorization"];
    const front = await bed.front({ forwardHeaders }, { forwardHeaders });
    await assert.rejects(async () => front.client.send("complete"), { reason: "UNAUTHENTICATED" });
    assert.equal(front.agent.authenticate?.(new Headers()).name, "anonymous");
  });
});
