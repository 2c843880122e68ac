/** Where webhooks may not be, however it is written and however it is reached; and that those that may be are reached. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, isIPv6, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { WebhookGuard, type WebhookPolicy } from "../../src/worker/webhook-guard/webhook-guard.ts";
import { type Posted, WebhookPoster } from "../../src/worker/webhook-poster.ts";
import { Authority } from "../certificates.ts";
import { failureOf, openBed, send, startTask } from "../bindings/bed.ts";
import { NameServer } from "./name-server.ts";
import { ADDRESSES, TRICKS } from "./targets.ts";

const POLICY: WebhookPolicy = {
  allowHttp: false,
  allow: [],
  ports: [80, 443, [1024, 65_535]],
  dnsServers: [],
  connectTimeoutMs: 20_000,
};

const shown = (host: string): string => (isIPv6(host) ? `[${host}]` : host);
const refusedAddress: Posted = { is: "refused", cause: "its name leads to an address that webhooks may not have" };

/** What becomes of an empty POST under a policy. */
async function post(url: string, policy: Partial<WebhookPolicy>): Promise<Posted> {
  const { connect } = new WebhookGuard({ ...POLICY, ...policy });
  const poster = new WebhookPoster({ timeoutMs: 20_000, perHost: 4, perOwner: 4, concurrency: 4, connect });
  try {
    const target = new URL(url);
    return await poster.post({ hostname: target.hostname, owner: "" }, new AbortController().signal, async () => ({
      url: target,
      headers: {},
      body: "{}",
    }));
  } finally {
    await poster.close();
  }
}

/** A server that counts who has reached it. */
interface Target extends AsyncDisposable {
  readonly port: number;
  readonly reached: string[];
}

async function listening(server: Server, host: string, reached: string[]): Promise<Target> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return { port, reached, [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())) };
}

/** One connection for each request: an open one is not looked up again. */
function openTarget(host = "127.0.0.1", answer = 200, location?: string): Promise<Target> {
  const reached: string[] = [];
  const server = createServer((request, response) => {
    reached.push(request.headers.host ?? "");
    request.resume();
    response.writeHead(answer, { connection: "close", ...(location !== undefined && { location }) }).end();
  });
  return listening(server, host, reached);
}

suite("at registration", () => {
  const literal = ADDRESSES.map(([address, what]) => [`https://${shown(address)}/hook`, what] as const);

  test(`R-117 R-118 C-26 P-39 PR-06 none of ${literal.length + TRICKS.length} targets and tricks is taken, and the answer names the field`, async () => {
    await using bed = await openBed({ push: { enabled: true } });
    const { rest } = bed;
    const taskId = await startTask(rest, "input");
    assert.ok(literal.length + TRICKS.length >= 80);
    for (const [url, what] of [...literal, ...TRICKS]) {
      const failure = await failureOf(rest.unary("CreateTaskPushNotificationConfig", { taskId, url }));
      assert.deepEqual([failure.reason, failure.violations], ["INVALID_ARGUMENT", ["url"]], `${url} (${what}): ${failure.message}`);
    }
    const { message } = await rest.unary("ListTaskPushNotificationConfigs", { taskId });
    assert.deepEqual(message["configs"] ?? [], []);
  });

  test("R-117 R-251 every surface says INVALID_ARGUMENT and names the field, on its own and within a send, before a task is begun", async () => {
    await using bed = await openBed({ push: { enabled: true } });
    for (const caller of bed.callers) {
      const contextId = `context-${caller.binding}`;
      const taskId = await startTask(caller, "input");
      const alone = await failureOf(caller.unary("CreateTaskPushNotificationConfig", { taskId, url: "https://169.254.169.254/" }));
      assert.deepEqual([alone.reason, alone.violations], ["INVALID_ARGUMENT", ["url"]], caller.binding);
      const taskPushNotificationConfig = { url: "https://localhost/" };
      const along = await failureOf(
        caller.unary("SendMessage", send("complete", { message: { contextId }, configuration: { taskPushNotificationConfig } })),
      );
      const field = "configuration.taskPushNotificationConfig.url";
      assert.deepEqual([along.reason, along.violations], ["INVALID_ARGUMENT", [field]], caller.binding);
      assert.deepEqual((await caller.unary("ListTasks", { contextId })).message["tasks"] ?? [], []);
    }
  });

  test("an address of this machine is refused though it is public", () => {
    const guard = new WebhookGuard(POLICY);
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    for (const { address } of own) assert.match(guard.problemOf(`https://${shown(address)}/`) ?? "", /address|absolute/, address);
  });

  test("public names and addresses are taken, on the ports that are allowed", () => {
    const guard = new WebhookGuard(POLICY);
    const urls = [
      "https://hooks.example.com/x?y=z",
      "https://8.8.8.8/",
      "https://[2606:4700::1111]:8443/",
      "https://bücher.example/",
      "https://a.b:443/",
    ];
    for (const url of urls) assert.equal(guard.problemOf(url), undefined, url);
    const narrow = new WebhookGuard({ ...POLICY, ports: [443, [8000, 8100]] });
    const ports = [443, 8000, 8100, 444, 7999, 8101].map((port) => narrow.problemOf(`https://hooks.example.com:${port}/`) === undefined);
    assert.deepEqual(ports, [true, true, true, false, false, false]);
  });

  test("what is on the allow-list is taken with http and on any port, and nothing beside it", () => {
    const allow = ["Hooks.Example.", "*.svc.cluster.local", "10.20.0.0/16", "192.168.7.7", "fd00:1::/32", "*.bücher.example"];
    const guard = new WebhookGuard({ ...POLICY, allow: allow.map((entry) => entry.replace(/\.$/, "")) });
    const taken = ["hooks.example:22", "a.b.svc.cluster.local", "10.20.255.1", "192.168.7.7", "[fd00:1:2::3]", "[::ffff:10.20.0.1]"];
    for (const host of [...taken, "x.bücher.example"]) assert.equal(guard.problemOf(`http://${host}/`), undefined, host);
    const refused = [
      "svc.cluster.local",
      "xsvc.cluster.local",
      "hooks.example.evil.com",
      "10.21.0.1",
      "192.168.7.8",
      "[fd00:2::1]",
      "a.hooks.example",
    ];
    for (const host of refused) assert.notEqual(guard.problemOf(`http://${host}/`), undefined, host);
  });

  test("an entry of the allow-list that could be taken for another one is refused", () => {
    const wrong = [
      "10/8",
      "10.1",
      "10.0.0.0/33",
      "fd00::/129",
      "10.0.0.0/8/8",
      "*",
      "*.",
      "a b",
      "https://x.example",
      "x.example:443",
      "",
      "fe80::1%eth0",
      "1",
    ];
    for (const entry of wrong) assert.throws(() => new WebhookGuard({ ...POLICY, allow: [entry] }), TypeError, entry);
  });
});

suite("at a connection", () => {
  test(`R-117 C-26 a name is refused that leads to one of ${ADDRESSES.length} addresses, alone or beside a public one, directly or by another name`, async () => {
    await using names = await NameServer.open();
    const policy = { dnsServers: [names.address] };
    for (const [at, [address, what]] of ADDRESSES.entries()) {
      names.set(`alone${at}.example.com`, address);
      names.set(`beside${at}.example.com`, "8.8.8.8", address);
      names.names.set(`alias${at}.example.com`, { alias: "elsewhere.example.org", addresses: [address] });
      for (const name of [`alone${at}`, `beside${at}`, `alias${at}`]) {
        assert.deepEqual(await post(`https://${name}.example.com/`, policy), refusedAddress, `${address} (${what}) by ${name}`);
      }
    }
  });

  test("R-117 an address that was registered when it was allowed is refused when it is not any more", async () => {
    await using target = await openTarget();
    const url = `http://127.0.0.1:${target.port}/`;
    assert.equal((await post(url, { allow: ["127.0.0.0/8"] })).is, "delivered");
    assert.equal((await post(url, { allowHttp: true })).is, "refused");
    assert.equal((await post(`http://[::ffff:127.0.0.1]:${target.port}/`, { allowHttp: true })).is, "refused");
    assert.equal(target.reached.length, 1);
  });

  test("C-26 a name that leads elsewhere at the next connection is refused there: each one is looked up and judged", async () => {
    await using names = await NameServer.open();
    await using allowed = await openTarget("127.0.0.1");
    await using other = await openTarget("127.0.0.2");
    const policy = { allow: ["127.0.0.1"], allowHttp: true, dnsServers: [names.address] };
    names.set("rebinds.example.com", "127.0.0.1");
    assert.deepEqual(await post(`http://rebinds.example.com:${allowed.port}/`, policy), { is: "delivered" });
    names.set("rebinds.example.com", "127.0.0.2");
    assert.deepEqual(await post(`http://rebinds.example.com:${other.port}/`, policy), refusedAddress);
    assert.deepEqual([allowed.reached.length, other.reached.length], [1, 0]);
  });

  test("C-26 a name that changes with every question leads where it was judged, and nowhere else", async () => {
    await using names = await NameServer.open();
    await using allowed = await openTarget("127.0.0.1");
    let asked = 0;
    names.names.set("flips.example.com", () => ({ addresses: [(asked += 1) <= 2 ? "127.0.0.1" : "127.0.0.2"] }));
    const policy = { allow: ["127.0.0.1"], allowHttp: true, dnsServers: [names.address] };
    assert.deepEqual(await post(`http://flips.example.com:${allowed.port}/`, policy), { is: "delivered" });
    assert.equal(asked, 2, "one question for each kind of address, and no second look");
    assert.deepEqual(await post(`http://flips.example.com:${allowed.port}/`, policy), refusedAddress);
  });

  test("C-26 a redirect is an answer that is not followed", async () => {
    await using inner = await openTarget("127.0.0.2");
    await using outer = await openTarget("127.0.0.1", 307, `http://127.0.0.2:${inner.port}/`);
    const posted = await post(`http://127.0.0.1:${outer.port}/`, { allow: ["127.0.0.1"] });
    assert.deepEqual(posted, { is: "refused", cause: "it answered HTTP 307, and redirects are not followed" });
    assert.equal(inner.reached.length, 0);
  });

  test("a name that does not exist, or that nobody answers for, is tried again later", async () => {
    await using names = await NameServer.open();
    names.silent.add("silent.example.com");
    const policy = { dnsServers: [names.address] };
    const missing = await post("https://missing.example.com/", policy);
    assert.deepEqual(missing, { is: "retry", cause: "it could not be reached (ENOTFOUND)", afterMs: undefined });
    const silent = await post("https://silent.example.com/", { ...policy, connectTimeoutMs: 400 });
    assert.equal(silent.is, "retry");
  });

  test("name servers that do not answer hold up no other lookup of this process", async () => {
    await using names = await NameServer.open();
    await using target = await openTarget();
    const policy = { allow: ["127.0.0.1"], allowHttp: true, dnsServers: [names.address], connectTimeoutMs: 60_000 };
    const slow = Array.from({ length: 32 }, (_, at) => `silent${at}.example.com`);
    for (const name of slow) names.silent.add(name);
    names.set("quick.example.com", "127.0.0.1");
    const hanging = Promise.all(slow.map((name) => post(`https://${name}/`, policy)));
    const order: string[] = [];
    const first = post(`http://quick.example.com:${target.port}/`, policy).then(({ is }) => order.push(is));
    await Promise.race([first, hanging.then(() => order.push("hanging"))]);
    assert.deepEqual(order, ["delivered"]);
    await hanging;
  });
});

suite("targets that are allowed are reached", () => {
  test("by address, by network, by name and by suffix", async () => {
    await using names = await NameServer.open();
    await using target = await openTarget();
    names.set("in.cluster.example", "127.0.0.1");
    const ways: [string, string][] = [
      ["127.0.0.1", "127.0.0.1"],
      ["127.0.0.1", "127.0.0.0/8"],
      ["2130706433", "127.0.0.1"],
      ["in.cluster.example", "in.cluster.example"],
      ["IN.cluster.example.", "in.cluster.example"],
      ["in.cluster.example", "*.cluster.example"],
      ["in.cluster.example", "*.example"],
      ["[::ffff:127.0.0.1]", "127.0.0.1"],
    ];
    for (const [host, entry] of ways) {
      const posted = await post(`http://${host}:${target.port}/`, { allow: [entry], dnsServers: [names.address] });
      assert.deepEqual(posted, { is: "delivered" }, `${host} by ${entry}`);
    }
    assert.equal(target.reached.length, ways.length);
  });

  test("a name that only the platform knows is asked of the platform, where it is listed, or where a network is", async () => {
    await using target = await openTarget();
    const url = `http://localhost:${target.port}/`;
    assert.deepEqual(await post(url, { allow: ["localhost"] }), { is: "delivered" });
    assert.deepEqual(await post(url, { allow: ["127.0.0.0/8", "::1"], allowHttp: true }), { is: "delivered" });
    assert.equal((await post(url, { allowHttp: true })).is, "refused");
  });

  test("IPv6 by its address", { skip: hasIPv6() ? false : "this machine has no ::1" }, async () => {
    await using target = await openTarget("::1");
    for (const entry of ["::1", "::/64"]) {
      assert.deepEqual(await post(`http://[::1]:${target.port}/`, { allow: [entry] }), { is: "delivered" }, entry);
    }
  });

  test("R-120 over TLS, with the certificate judged for the name that was registered", async () => {
    const folder = mkdtempSync(join(tmpdir(), "webhook-tls-"));
    using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
    await using names = await NameServer.open();
    const authority = new Authority(folder);
    const { cert, key, ca } = authority.issue("hooks", { names: "DNS:hooks.example.com" });
    const reached: string[] = [];
    const server = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
      reached.push(request.headers.host ?? "");
      request.resume();
      response.writeHead(204, { connection: "close" }).end();
    });
    await using target = await listening(server, "127.0.0.1", reached);
    names.set("hooks.example.com", "127.0.0.1");
    names.set("other.example.com", "127.0.0.1");
    const policy = { allow: ["127.0.0.1"], dnsServers: [names.address], ca: readFileSync(ca, "utf8") };
    assert.deepEqual(await post(`https://hooks.example.com:${target.port}/`, policy), { is: "delivered" });
    const other = await post(`https://other.example.com:${target.port}/`, policy);
    assert.deepEqual(other, { is: "retry", cause: "it could not be reached (ERR_TLS_CERT_ALTNAME_INVALID)", afterMs: undefined });
    const { ca: _, ...unknown } = policy;
    assert.equal((await post(`https://hooks.example.com:${target.port}/`, unknown)).is, "retry");
    assert.deepEqual(reached, [`hooks.example.com:${target.port}`]);
  });
});

function hasIPv6(): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
}
