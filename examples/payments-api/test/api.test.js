import assert from "node:assert/strict";
import { on, once } from "node:events";
import { after, before, describe, it } from "node:test";
import { createApi } from "../src/api.js";
import { systemClock } from "../src/clock.js";
import { IdempotencyStore } from "../src/idempotency.js";
import { Ledger } from "../src/ledger.js";
import { Payments } from "../src/payments.js";
import { RateLimiter } from "../src/rate-limit.js";

const card = { number: "4242424242424242", expMonth: 12, expYear: 2099, cvc: "123" };
const order = { card, amount: "12.50", currency: "EUR" };
let base;
let server;
let payments;
let idempotency;
let authorized = 0;

before(async () => {
  const authorize = async () => {
    await systemClock.sleep(180);
    return `ref-${++authorized}`;
  };
  payments = new Payments({ ledger: new Ledger(), gateway: { authorize }, holdMs: 500 });
  const tokens = new Map([
    ["secret-shop", "shop"],
    ["secret-busy", "busy"],
  ]);
  const limiter = new RateLimiter({ limit: 20, windowMs: 500 });
  idempotency = new IdempotencyStore({ ttlMs: 60_000 });
  server = createApi({ payments, idempotency, limiter, tokens });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  payments.close();
  idempotency.close();
  server.closeAllConnections();
  server.close();
});

async function call(method, path, { body, key, token = "secret-shop" } = {}) {
  const headers = { authorization: `Bearer ${token}`, ...(key ? { "idempotency-key": key } : {}) };
  const response = await fetch(base + path, { method, headers, body: typeof body === "object" ? JSON.stringify(body) : body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

describe("payments over HTTP", () => {
  it("authorizes, captures and refunds", async () => {
    const { status, body } = await call("POST", "/payments", { body: order, key: "flow-1" });
    assert.equal(status, 201);
    assert.equal((await call("POST", `/payments/${body.id}/capture`, { key: "flow-2" })).body.state, "captured");
    const part = { amount: "2.50", currency: "EUR" };
    assert.equal((await call("POST", `/payments/${body.id}/refund`, { body: part, key: "flow-3" })).body.refunded.minor, 250);
    assert.equal((await call("GET", `/payments/${body.id}`)).body.state, "captured");
  });

  it("does a request that is sent twice at once a single time", async () => {
    const earlier = authorized;
    const [a, b] = await Promise.all([1, 2].map(() => call("POST", "/payments", { body: order, key: "twice" })));
    assert.equal(a.body.id, b.body.id);
    assert.equal(authorized, earlier + 1);
    assert.deepEqual([a, b].map(({ headers }) => headers.get("idempotent-replay")).toSorted(), [null, "true"].toSorted());
  });

  it("refuses a capture after the hold has expired", async () => {
    const { body } = await call("POST", "/payments", { body: order, key: "late-1" });
    for await (const [{ id, state }] of on(payments, "changed")) if (id === body.id && state === "expired") break;
    const late = await call("POST", `/payments/${body.id}/capture`, { key: "late-2" });
    assert.deepEqual([late.status, late.body.error.code], [409, "wrong_state"]);
  });

  it("says what is wrong with a card or an amount", async () => {
    const mistyped = { ...order, card: { ...card, number: "4242424242424241" } };
    assert.equal((await call("POST", "/payments", { body: mistyped, key: "wrong-1" })).body.error.code, "invalid_number");
    const fraction = { ...order, amount: "0.001" };
    assert.equal((await call("POST", "/payments", { body: fraction, key: "wrong-2" })).body.error.code, "invalid_amount");
  });
});

describe("the door", () => {
  it("is closed to those without a token", async () => {
    assert.equal((await call("GET", "/payments/pay_1", { token: "guess" })).status, 401);
    assert.equal((await fetch(`${base}/payments/pay_1`)).status, 401);
  });

  it("knows paths, methods and keys", async () => {
    assert.equal((await call("GET", "/nothing")).status, 404);
    assert.equal((await call("DELETE", "/payments/pay_1")).status, 405);
    assert.equal((await call("POST", "/payments", { body: order })).body.error.code, "key_missing");
    assert.equal((await call("POST", "/payments/pay_1/toString", { key: "odd" })).status, 404);
  });

  it("refuses a body that is no JSON or too large", async () => {
    assert.equal((await call("POST", "/payments", { body: "{", key: "bad-1" })).status, 400);
    const large = `"${"x".repeat(20_000)}"`;
    assert.equal((await call("POST", "/payments", { body: large, key: "bad-2" })).status, 413);
  });

  it("slows a busy caller down and lets it in again", async () => {
    const answers = await Promise.all(Array.from({ length: 22 }, () => call("GET", "/payments/pay_1", { token: "secret-busy" })));
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(refused.length, 2);
    await systemClock.sleep(Number(refused[0].headers.get("retry-after-ms")) + 20);
    assert.equal((await call("GET", "/payments/pay_1", { token: "secret-busy" })).status, 200);
  });
});
