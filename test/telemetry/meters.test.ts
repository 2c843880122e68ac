/** Each measure of the domain, as a scraper sees it: real servers on a real Redis, in this process. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { completed, working } from "../../src/core/events.ts";
import type { Agent } from "../../src/core/agent.ts";
import { Meters } from "../../src/server/telemetry/meters.ts";
import { openBed, send, startTask, taskOf } from "../bindings/bed.ts";
import { Replica } from "../e2e/replica.ts";
import { fileRedis } from "../redis/file-redis.ts";
import { redisServer } from "../redis/redis-server.ts";
import { until } from "../redis/until.ts";
import { openWebhooks } from "../webhooks/webhook-bed.ts";
import { type Sample, scrapeOfThisProcess, sumOf } from "./scraped.ts";

const WITHIN_MS = 60_000;
const CARD = { name: "m", description: "m", version: "1", defaultInputModes: [], defaultOutputModes: [], skills: [] };

suite("what is measured", { timeout: 180_000 }, () => {
  let scrape: () => Promise<readonly Sample[]>;
  before(async () => {
    scrape = await scrapeOfThisProcess();
  });

  /** How much a metric has grown since this was called. */
  async function growth(name: string, labels: Readonly<Record<string, string>> = {}): Promise<() => Promise<number>> {
    const start = sumOf(await scrape(), name, labels);
    return async () => sumOf(await scrape(), name, labels) - start;
  }

  /** Waits until a metric has grown by at least so much. */
  const grown = (by: number, since: () => Promise<number>): Promise<unknown> =>
    until(`growth by ${by}`, WITHIN_MS, async () => (await since()) >= by);

  test("a turn counts while it runs, then by the state that its task came to rest in; its appends are timed", async () => {
    await using bed = await openBed({ redis: await fileRedis() });
    const running = await growth("throughline_turns_running");
    const [completions, questions, stored] = [
      await growth("throughline_turns_ended_total", { state: "completed" }),
      await growth("throughline_turns_ended_total", { state: "input_required" }),
      await growth("throughline_log_append_duration_count", { outcome: "stored" }),
    ];
    const gate = bed.agent.gate();
    const stream = bed.grpc.stream("SendStreamingMessage", send(`silent ${gate.name}`));
    await gate.reached;
    assert.equal(await running(), 1);
    gate.open();
    for await (const _ of stream);
    await grown(1, completions);
    assert.equal(await running(), 0);
    assert.ok((await stored()) >= 1);
    await bed.grpc.unary("SendMessage", send("input"));
    await grown(1, questions);
    assert.equal(await completions(), 1);
  });

  test("what a waiting follower gets is timed from its append, and its bytes are counted", async () => {
    await using bed = await openBed({ redis: await fileRedis() });
    const [handed, sent] = [await growth("throughline_log_delivery_lag_count"), await growth("throughline_egress_sent_total")];
    // One that came before it was waited for does not count.
    await until("a sample", WITHIN_MS, async () => {
      const gate = bed.agent.gate();
      const stream = bed.grpc.stream("SendStreamingMessage", send(`silent ${gate.name}`));
      await gate.reached;
      gate.open();
      for await (const _ of stream);
      return (await handed()) > 0;
    });
    assert.ok(sumOf(await scrape(), "throughline_log_delivery_lag_sum") >= 0);
    assert.ok((await sent()) > 0);
  });

  test("a lost lease is taken over, and what its old owner appends is fenced", async () => {
    const { url, prefix } = await fileRedis();
    const second = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const agent: Agent = {
      card: CARD,
      resumable: true,
      async *run({ attempt }) {
        if (attempt === 1) {
          await second.promise;
          yield working("too late");
          return;
        }
        second.resolve();
        await done.promise;
        yield completed();
      },
    };
    // Nobody renews, and the first has room for one turn: the other takes it.
    const init = { redis: { url, prefix }, leaseMs: 400, renewMs: 3_600_000, sweepMs: 50, capacity: 1 };
    const [resumed, fenced, refused] = [
      await growth("throughline_turns_takeovers_total", { how: "resumed" }),
      await growth("throughline_log_append_fenced_total"),
      await growth("throughline_log_append_duration_count", { outcome: "fenced" }),
    ];
    await using first = await Replica.open(url, agent, { ...init, replica: "first" });
    await using _other = await Replica.open(url, agent, { ...init, replica: "other" });
    const call = first.grpc.unary("SendMessage", send("go"));
    await second.promise;
    await grown(1, fenced);
    assert.ok((await refused()) >= 1);
    assert.ok((await resumed()) >= 1);
    done.resolve();
    await call;
  });

  test("renewals count by lease", async () => {
    await using bed = await openBed({ redis: await fileRedis(), renewMs: 20 });
    const held = await growth("throughline_lease_renewals_total", { outcome: "held" });
    const gate = bed.agent.gate();
    await startTask(bed.grpc, `silent ${gate.name}`, { configuration: { returnImmediately: true } });
    await grown(3, held);
    gate.open();
  });

  test("tasks that wait for a replica are seen, until there is room", async () => {
    await using bed = await openBed({ redis: await fileRedis(), capacity: 1, sweepMs: 20 });
    const waits = (count: number): Promise<unknown> =>
      until(`${count} wait`, WITHIN_MS, async () => sumOf(await scrape(), "throughline_turns_waiting") === count);
    const gate = bed.agent.gate();
    const configuration = { returnImmediately: true };
    await startTask(bed.grpc, `silent ${gate.name}`, { configuration });
    await gate.reached;
    await startTask(bed.grpc, "complete", { configuration });
    await startTask(bed.grpc, "complete", { configuration });
    await waits(2);
    gate.open();
    await waits(0);
  });

  test("deliveries count by outcome, and a webhook that is given up is told", async () => {
    await using hooks = await openWebhooks({ redis: await fileRedis() });
    const of = (outcome: string): Promise<() => Promise<number>> => growth("throughline_webhook_deliveries_total", { outcome });
    const [delivered, retried, refused, gone] = [await of("delivered"), await of("retry"), await of("refused"), await of("gone")];
    const parked = await growth("throughline_webhook_parked_total");
    hooks.receiver.next.push(500);
    await hooks.begin("complete");
    await grown(1, delivered);
    await grown(1, retried);
    hooks.receiver.next.push(404);
    await hooks.begin("complete");
    await grown(1, parked);
    assert.equal(await refused(), 1);
    hooks.receiver.next.push(410);
    await hooks.begin("complete");
    await grown(1, gone);
  });

  test("tasks are read from the store once, then from the cache, whose size is told", async () => {
    await using bed = await openBed({ redis: await fileRedis() });
    const { id } = taskOf(await bed.grpc.unary("SendMessage", send("complete")));
    await bed.grpc.unary("GetTask", { id });
    const [hits, misses] = [
      await growth("throughline_snapshot_reads_total", { cache: "hit" }),
      await growth("throughline_snapshot_reads_total", { cache: "miss" }),
    ];
    await bed.grpc.unary("GetTask", { id });
    assert.deepEqual([await hits(), await misses()], [1, 0]);
    await using other = await openBed({ redis: { ...bed.server.options.redis }, replica: "other" });
    await other.grpc.unary("GetTask", { id });
    assert.equal(await misses(), 1);
    assert.ok(sumOf(await scrape(), "throughline_snapshot_cache_size") > 0);
  });

  test("a Redis that goes away and comes back is seen, and connections that were made again are counted", async () => {
    await using redis = await redisServer({ appendonly: "always" });
    await using bed = await openBed({ redis: { url: redis.url } });
    const again = await growth("throughline_redis_reconnects_total");
    const there = async (): Promise<number> => sumOf(await scrape(), "throughline_store_available");
    assert.equal(await there(), 1);
    await redis.shutdown();
    await until("it is away", WITHIN_MS, async () => (await there()) === 0);
    await redis.start();
    await until("it is back", WITHIN_MS, async () => (await there()) === 1);
    assert.ok((await again()) >= 1);
    await bed.grpc.unary("SendMessage", send("complete"));
  });

  test("the event loop, the memory and what readers have not taken are looked at when they are asked for", async () => {
    await using _bed = await openBed();
    await scrape();
    // Late for whoever waits.
    for (const end = performance.now() + 100; performance.now() < end;);
    const samples = await until("a delay", WITHIN_MS, async () => {
      const seen = await scrape();
      return sumOf(seen, "throughline_eventloop_delay", { quantile: "1" }) > 0 && seen;
    });
    assert.ok(sumOf(samples, "throughline_memory_size") > 10_000_000);
    const utilization = sumOf(samples, "throughline_eventloop_utilization");
    assert.ok(utilization >= 0 && utilization <= 1);
    assert.deepEqual(
      samples.filter(({ name }) => name === "throughline_egress_size").map(({ labels }) => labels["kind"]),
      ["sending", "waiting", "replies"],
    );
  });

  test("no label tells a task, a context, a principal or a tenant", async () => {
    const tokens = { s3cret: "mallory-the-caller" };
    await using bed = await openBed({ redis: await fileRedis(), tokens, tenants: ["acme-the-tenant"] });
    const headers = { authorization: "Bearer s3cret" };
    const reply = await bed.rest.unary("SendMessage", { ...send("complete"), tenant: "acme-the-tenant" }, { headers });
    const { id, contextId } = taskOf(reply);
    const told = JSON.stringify(await scrape());
    for (const secret of [id, contextId, "mallory-the-caller", "acme-the-tenant", "s3cret"]) assert.ok(!told.includes(secret), secret);
  });

  test("what has ended is looked at no more", async () => {
    let looked = 0;
    const meters = new Meters();
    meters.observe({ available: () => (looked += 1) > 0, sent: () => 0, egress: () => ({ sending: 0, waiting: 0, replies: 0 }) });
    await scrape();
    assert.equal(looked, 1);
    meters[Symbol.dispose]();
    await scrape();
    assert.equal(looked, 1);
  });
});
