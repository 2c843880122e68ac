/** The HTTP API: JSON in and out, a bearer token per caller, an idempotency key on every write. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { PaymentError } from "./errors.js";
import { parseMoney } from "./money.js";

const maxBodyBytes = 16 * 1024;

async function readJson(request) {
  let size = 0;
  const chunks = [];
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new PaymentError("too_large", "the body is too large", 413);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new PaymentError("bad_json", "the body is no JSON", 400);
  }
}

function amountOf(body) {
  return body.amount === undefined ? undefined : parseMoney(String(body.amount), String(body.currency));
}

/** The server, not yet listening. `tokens` maps bearer tokens to callers. */
export function createApi({ payments, idempotency, limiter, tokens }) {
  const actions = {
    capture: (id, body) => payments.capture(id, amountOf(body)),
    void: (id) => payments.void(id),
    refund: (id, body) => payments.refund(id, amountOf(body)),
  };

  async function route(request, caller) {
    const [, collection, id, action, ...more] = new URL(request.url, "http://api").pathname.split("/");
    if (collection !== "payments" || more.length > 0) throw new PaymentError("not_found", "there is nothing here", 404);
    if (request.method === "GET" && id && !action) return { status: 200, body: payments.get(id) };
    if (request.method !== "POST") throw new PaymentError("method_not_allowed", "reads are GET, writes are POST", 405);
    const body = await readJson(request);
    const key = request.headers["idempotency-key"];
    if (!key) throw new PaymentError("key_missing", "a write needs an Idempotency-Key", 400);
    const fingerprint = createHash("sha256")
      .update(`${request.url}\n${JSON.stringify(body)}`)
      .digest("hex");
    const { value, replayed } = await idempotency.run(`${caller}:${key}`, fingerprint, async () => {
      if (!id) return { status: 201, body: await payments.authorize({ card: body.card ?? {}, amount: amountOf(body) }) };
      if (!Object.hasOwn(actions, action ?? "")) throw new PaymentError("not_found", "there is nothing here", 404);
      return { status: 200, body: actions[action](id, body) };
    });
    return { ...value, headers: replayed ? { "idempotent-replay": "true" } : {} };
  }

  async function handle(request) {
    const caller = tokens.get(/^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1]);
    if (!caller) throw new PaymentError("unauthorized", "a bearer token is needed", 401);
    const { allowed, remaining, retryAfterMs } = limiter.take(caller);
    if (!allowed) {
      const error = new PaymentError("rate_limited", "too many requests", 429);
      error.headers = { "retry-after-ms": String(retryAfterMs) };
      throw error;
    }
    const answer = await route(request, caller);
    return { ...answer, headers: { ...answer.headers, "ratelimit-remaining": String(remaining) } };
  }

  return createServer(async (request, response) => {
    let answer;
    try {
      answer = await handle(request);
    } catch (error) {
      const known = error instanceof PaymentError;
      const body = known ? { code: error.code, message: error.message } : { code: "internal", message: "something went wrong" };
      answer = { status: known ? error.status : 500, body: { error: body }, headers: error.headers };
    }
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    response.end(JSON.stringify(answer.body));
  });
}
