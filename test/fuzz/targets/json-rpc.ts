/** Envelopes of JSON-RPC, alone and in batches. */
import assert from "node:assert/strict";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { assertClean } from "../../hostile/surface.ts";
import type { Random } from "../random.ts";
import { Served, sendOf } from "../served.ts";
import type { Target } from "../target.ts";

const METHODS = A2AService.methods.map(({ name }) => name);
const KEYS = [
  "jsonrpc",
  "2.0",
  "id",
  "method",
  "params",
  "message",
  "messageId",
  "role",
  "ROLE_USER",
  "parts",
  "text",
  "data",
  "raw",
  "url",
  "metadata",
  "configuration",
  "historyLength",
  "taskId",
  "contextId",
  "tenant",
  "pageSize",
  "pageToken",
  "status",
  ...METHODS,
];

function envelope(random: Random, id: string): unknown {
  const whole: Record<string, unknown> = {
    jsonrpc: "2.0",
    id: random.pick([1, "a", null, 1.5]),
    method: random.pick(METHODS),
    params: random.pick([sendOf("complete"), { id }, {}]),
  };
  for (const key of Object.keys(whole)) {
    if (random.chance(0.1)) delete whole[key];
    else if (random.chance(0.15)) whole[key] = random.json(KEYS);
  }
  return random.chance(0.05) ? random.json(KEYS) : whole;
}

/** Whatever is posted, what comes back is JSON that blames the caller, events, or nothing. */
export const jsonRpc: Target = {
  name: "json-rpc",
  async open() {
    const served = await Served.open();
    const url = `http://127.0.0.1:${served.server.ports.http}/jsonrpc`;
    const id = await served.send("complete");
    return {
      async input(random) {
        const made = random.chance(0.3) ? Array.from({ length: random.below(25) }, () => envelope(random, id)) : envelope(random, id);
        const text = Buffer.from(JSON.stringify(made));
        const body = random.chance(0.4) ? random.mutated(text) : text;
        const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json", "a2a-version": "1.0" }, body });
        const reply = await response.text();
        assertClean(reply);
        assert.ok(response.status < 500, `${response.status}: ${reply}`);
        assert.doesNotMatch(reply, /"code":-32603/);
        if (response.headers.get("content-type") === "application/json") JSON.parse(reply);
      },
      check: () => served.check(),
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
};
