/** Profile itk, driven as the traversal suite drives it: an instruction nested in another for each hop, posted to the first agent. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { after, before, suite, test } from "node:test";
import { create, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { freePort } from "../../redis/free-port.ts";
import { type CallAgentSchema, type Instruction, InstructionSchema } from "../../gen/itk_pb.ts";
import { serveProfile, type SuiteBed } from "./suite/bed.ts";
import { framesOf, next, readTask, taskIn } from "./suite/read.ts";

const TRANSPORTS = ["grpc", "http_json", "jsonrpc"];
type Behaviour = NonNullable<MessageInitShape<typeof CallAgentSchema>["behavior"]>;

/** An agent of the chain. */
interface Agent {
  readonly name: string;
  readonly bed: SuiteBed;
  /** As the suite names it: the URL of JSON-RPC. */
  readonly uri: string;
}

function says(response: string, holdTask = false): Instruction {
  return create(InstructionSchema, { step: { case: "returnResponse", value: { response, holdTask } } });
}

function series(...instructions: Instruction[]): Instruction {
  return create(InstructionSchema, { step: { case: "steps", value: { instructions, responseGenerator: 1 } } });
}

function calls(agentCardUri: string, call: Omit<MessageInitShape<typeof CallAgentSchema>, "$typeName">): Instruction {
  return create(InstructionSchema, { step: { case: "callAgent", value: { agentCardUri, ...call } } });
}

/** What the suite makes of a circuit: each hop says that it is made, and calls the next agent with the rest. */
function circuit(
  agents: readonly Agent[],
  { transport, streaming = false, behavior }: { transport: string; streaming?: boolean; behavior?: Behaviour },
): { instruction: Instruction; tokens: string[] } {
  const hold = behavior?.case === "resubscribe";
  const end = `traversal-completed:${transport}`;
  const hops = agents.slice(1).map((to, index) => ({ token: `[${agents[index]?.name} -> ${to.name} (${transport})]`, to }));
  const instruction = hops.reduceRight(
    (inner, { token, to }) =>
      series(says(token, hold), calls(to.uri, { transport, streaming, instruction: inner, ...(behavior && { behavior }) })),
    says(end, hold),
  );
  return { instruction, tokens: [...hops.map(({ token }) => token), end] };
}

/** The message that carries an instruction. */
function carrying(instruction: Instruction): JsonObject {
  const raw = Buffer.from(toBinary(InstructionSchema, instruction)).toString("base64");
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ raw, mediaType: "application/x-protobuf", filename: "instruction.bin" }] };
}

/** What the agent says in a stream, until it has said all these. */
async function heard(stream: AsyncGenerator<JsonObject>, tokens: readonly string[]): Promise<string> {
  let text = "";
  for await (const frame of stream) {
    text += agentText(frame);
    if (tokens.every((token) => text.includes(token))) return text;
  }
  return assert.fail(`the stream has ended with ${text}`);
}

/** A receiver of webhooks, as the suite's: it takes JSON below /notifications, with a token. */
class Receiver implements AsyncDisposable {
  readonly #server: Server;
  readonly #texts = new Set<string>();
  #look: () => void = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Receiver> {
    const server = createServer((request, reply) => void receiver.#take(request).then((status) => reply.writeHead(status).end()));
    const receiver = new Receiver(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return receiver;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when agents have said all these in updates of their status. */
  async hears(...texts: readonly string[]): Promise<void> {
    while (!texts.every((text) => this.#texts.has(text))) await new Promise<void>((resolve) => (this.#look = resolve));
  }

  async #take(request: IncomingMessage): Promise<number> {
    const body = (await json(request)) as JsonObject;
    if (request.url !== "/notifications" || request.headers["x-a2a-notification-token"] !== "traversal") return 400;
    const text = agentText(body);
    if (text !== "") this.#texts.add(text);
    this.#look();
    return 200;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), "close");
  }
}

/** What the agent says in an update of its status; empty where it says nothing. */
function agentText(event: JsonObject): string {
  const update = event["statusUpdate"] as { status: { message?: { role: string; parts: { text: string }[] } } } | undefined;
  const message = update?.status.message;
  return message?.role === "ROLE_AGENT" ? message.parts.map((part) => part.text).join("") : "";
}

/** All tasks of an agent, the newest first. */
async function tasksAt({ bed }: Agent): Promise<ReturnType<typeof readTask>[]> {
  const [, , client] = bed.clients;
  return ((await client.listTasks({ contextId: "", pageSize: 100 }))["tasks"] as JsonObject[]).map(readTask);
}

suite("profile itk", { timeout: 120_000 }, () => {
  const chain: Agent[] = [];
  before(async () => {
    for (const name of ["A", "B", "C"]) {
      const bed = await serveProfile("itk");
      const interfaces = bed.card["supportedInterfaces"] as { url: string; protocolBinding: string }[];
      chain.push({ name, bed, uri: interfaces.find(({ protocolBinding }) => protocolBinding === "JSONRPC")?.url ?? "" });
    }
  });
  after(async () => {
    for (const { bed } of chain) await bed[Symbol.asyncDispose]();
  });
  const first = (): SuiteBed["clients"][2] => (chain[0] as Agent).bed.clients[2];

  for (const transport of TRANSPORTS) {
    for (const streaming of [false, true]) {
      test(`goes from A over B to C by ${transport}${streaming ? ", streaming" : ""}, and answers with the way that it took`, async () => {
        const { instruction, tokens } = circuit(chain, { transport, streaming });
        const task = taskIn(await first().send(carrying(instruction)));
        assert.deepEqual([task.state, task.says], ["COMPLETED", tokens.join("\n")]);
        const events = await framesOf(first().stream(carrying(instruction)));
        assert.deepEqual(
          events.map((frame) => Object.keys(frame)[0]),
          ["task", "statusUpdate", "statusUpdate"],
        );
      });
    }

    test(`drops a stream by ${transport}, subscribes to its task, and cancels that when it has said all`, async () => {
      const { instruction, tokens } = circuit(chain, { transport, streaming: true, behavior: { case: "resubscribe", value: {} } });
      const stream = first().stream(carrying(instruction));
      const { id } = readTask((await next(stream))["task"] as JsonObject);
      const text = await heard(stream, tokens);
      assert.ok(text.endsWith("\ntask-finished"), text);
      assert.equal(text.replace("\ntask-finished", ""), tokens.join("\n"));
      assert.equal(readTask(await first().cancelTask(id)).state, "CANCELED");
      for (const agent of chain.slice(1)) assert.equal((await tasksAt(agent))[0]?.state, "CANCELED", agent.name);
    });

    test(`has each agent tell a webhook what it says, the calls going by ${transport}`, async () => {
      await using receiver = await Receiver.open();
      const behavior = { case: "pushNotification" as const, value: { url: receiver.address } };
      const { instruction, tokens } = circuit(chain, { transport, behavior });
      const own = { taskPushNotificationConfig: { url: `http://${receiver.address}/notifications`, token: "traversal" } };
      assert.equal(taskIn(await first().send(carrying(instruction), own)).says, tokens.join("\n"));
      // That of an agent is what those behind it have said, and its own hop before that.
      await receiver.hears(...tokens.map((_, index) => tokens.slice(index).join("\n")));
    });
  }

  test("does one step after the other, over whatever transports, and joins what they say", async () => {
    const ways = TRANSPORTS.map((transport) => circuit(chain, { transport }));
    const text = Buffer.from(toBinary(InstructionSchema, series(...ways.map(({ instruction }) => instruction)))).toString("base64");
    const task = taskIn(await first().send({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] }));
    assert.equal(task.says, ways.flatMap(({ tokens }) => tokens).join("\n"));
  });

  test("says what a held task has said again and again, and completes it when nobody cancels", async () => {
    const frames = await framesOf(first().stream(carrying(series(says("one", true), says("two")))));
    const said = frames.flatMap((frame) => {
      const status = (frame["statusUpdate"] as { status: { state: string; message?: { parts: { text: string }[] } } } | undefined)?.status;
      return status?.message === undefined ? [] : [`${status.state} ${status.message.parts[0]?.text}`];
    });
    assert.deepEqual(said, [
      ...Array.from({ length: 5 }, () => "TASK_STATE_WORKING one\ntwo\ntask-finished"),
      "TASK_STATE_COMPLETED one\ntwo",
    ]);
  });

  test("fails where there is trouble, and says which, wherever it was", async () => {
    const [, b, c] = chain as [Agent, Agent, Agent];
    const nowhere = `http://127.0.0.1:${await freePort()}/jsonrpc`;
    const inner = { transport: "grpc", instruction: says("never") };
    const troubles: readonly (readonly [Instruction, RegExp])[] = [
      [create(InstructionSchema, {}), /^there is no instruction in the message$/],
      [calls(b.uri, { ...inner, transport: "pigeon" }), /^transport is grpc, jsonrpc, http_json, not pigeon$/],
      [calls(b.uri, { transport: "grpc" }), /^a call of an agent needs an instruction$/],
      [series(says("before"), calls(nowhere, inner)), /^cannot fetch the agent card at http:/],
      [
        calls(b.uri, { transport: "grpc", instruction: calls(c.uri, { ...inner, transport: "" }) }),
        /^the task at http:.* was not completed: transport is /,
      ],
      [calls(b.uri, { ...inner, behavior: { case: "resubscribe", value: {} } }), /^the task .* has ended, and never said task-finished$/],
    ];
    for (const [instruction, expected] of troubles) {
      const task = taskIn(await first().send(carrying(instruction)));
      assert.equal(task.state, "FAILED");
      assert.match(task.says, expected);
    }
    const stray = taskIn(await first().send({ messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "hello there" }] }));
    assert.deepEqual([stray.state, stray.says], ["FAILED", "there is no instruction in the message"]);
  });
});
