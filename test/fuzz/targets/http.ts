/** Bodies and targets of HTTP/1.1. */
import assert from "node:assert/strict";
import { exchange, head, posted } from "../../hostile/raw-http.ts";
import { assertClean } from "../../hostile/surface.ts";
import { Served, sendOf } from "../served.ts";
import type { Target } from "../target.ts";

const PIECES = [
  "/tasks",
  "/message:send",
  "/message:stream",
  ":cancel",
  ":subscribe",
  "/jsonrpc",
  "/lf.a2a.v1.A2AService/",
  "GetTask",
  "/.well-known/agent-card.json",
  "/openapi.json",
  "pushNotificationConfigs",
  "?",
  "&",
  "=",
  "pageSize",
  "historyLength",
  "id",
  "A2A-Version=1.0",
  "%",
  "%2F",
  "..",
  "//",
];

/** Whatever is sent, what comes back is HTTP or nothing, and blames the caller. */
export const http: Target = {
  name: "http",
  async open() {
    const served = await Served.open();
    const id = await served.send("input");
    const json = JSON.stringify(sendOf("complete"));
    const good = [
      posted("/message:send", json),
      posted("/message:stream", json),
      posted("/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${json}}`),
      posted("/lf.a2a.v1.A2AService/SendMessage", json),
      posted("/lf.a2a.v1.A2AService/GetTask", `\n$${id}`, { "content-type": "application/proto" }),
      posted("/lf.a2a.v1.A2AService/GetTask", Buffer.concat([Buffer.from("0000000026", "hex"), Buffer.from(`\n$${id}`)]), {
        "content-type": "application/grpc-web+proto",
      }),
      Buffer.from(head(`GET /tasks/${id}?historyLength=1`)),
      Buffer.from(head(`GET /tasks?pageSize=5&status=TASK_STATE_COMPLETED`)),
      Buffer.from(head("GET /.well-known/agent-card.json", { "if-none-match": '"x"' })),
    ];
    return {
      async input(random) {
        const made = Array.from({ length: random.below(8) }, () => random.pick(PIECES)).join("");
        const bytes = random.chance(0.2)
          ? Buffer.from(head(`${random.pick(["GET", "POST", "DELETE", "PUT"])} /${made}`))
          : random.mutated(random.pick(good));
        const received = await exchange(served.server.ports.http, bytes, { end: true });
        assertClean(received);
        assert.match(received, /^(?:HTTP\/1\.1 (?:100 Continue\r\n\r\nHTTP\/1\.1 )?(?:[1-4]\d\d|501) |$)/);
      },
      check: () => served.check(),
      [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    };
  },
};
