/** The client ends of the bindings, each as a way to our own server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescMessage, type MessageInitShape, type MessageShape, toJson } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { A2AService, type Message, MessageSchema, Role, type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { type ConnectTransportOptions, createConnectHttpTransport } from "../../../src/bindings/connect/transport.ts";
import { createGrpcTransport, type GrpcTransportOptions } from "../../../src/bindings/grpc/transport.ts";
import { createJsonRpcTransport } from "../../../src/bindings/json-rpc/transport.ts";
import { createRestTransport, type RestTransportOptions } from "../../../src/bindings/rest/transport.ts";
import type { ClosableTransport } from "../../../src/bindings/transport.ts";
import { type ClientErrorFacts, clientErrorFacts } from "../../../src/rpc/client-errors.ts";
import { brief, normal, type Outcome } from "../bed.ts";
import { frameJson } from "../callers/caller.ts";

/** Ports of a server, or of what stands before it. */
export interface Ports {
  readonly grpc: number;
  readonly http: number;
}

/** A typed client of our service. */
export type A2AClient = Client<typeof A2AService>;

/** What each transport takes of its own is nothing to the others. */
type WayOptions = GrpcTransportOptions & ConnectTransportOptions & RestTransportOptions;

/** One transport and how it is set up. */
export interface Way {
  readonly name: string;
  /** Whether a stream just ends when its server drains, and does not say why. */
  readonly sse: boolean;
  readonly port: keyof Ports;
  /** `scheme` is that of the URL. */
  open(ports: Ports, options?: Partial<WayOptions>, scheme?: "http" | "https"): ClosableTransport;
}

const HEADERS = { "a2a-version": "1.0" };

function way(name: string, port: keyof Ports, path: string, make: (options: WayOptions) => ClosableTransport): Way {
  return {
    name,
    sse: port === "http" && !name.startsWith("Connect"),
    port,
    open: (ports, options, scheme = "http") => make({ url: `${scheme}://127.0.0.1:${ports[port]}${path}`, headers: HEADERS, ...options }),
  };
}

export const WAYS: readonly [Way, ...Way[]] = [
  way("gRPC", "grpc", "", createGrpcTransport),
  way("Connect over HTTP/2", "http", "", createConnectHttpTransport),
  way("Connect over HTTP/1.1", "http", "", (options) => createConnectHttpTransport({ ...options, httpVersion: "1.1" })),
  way("HTTP+JSON", "http", "", createRestTransport),
  way("HTTP+JSON with GET", "http", "/", (options) => createRestTransport({ ...options, subscribeVerb: "GET" })),
  way("JSON-RPC", "http", "/jsonrpc", createJsonRpcTransport),
];

/** Opens a way for the length of a test. */
export function client(transport: ClosableTransport): { readonly client: A2AClient } & Disposable {
  return { client: createClient(A2AService, transport), [Symbol.dispose]: () => transport.close() };
}

/** Runs a scenario over each way; what they see is the same. */
export function everyWay(name: string, ports: () => Ports, scenario: (client: A2AClient, way: Way) => Promise<Outcome>): void {
  test(name, async () => {
    let first: Outcome;
    for (const one of WAYS) {
      using opened = client(one.open(ports()));
      try {
        const outcome = normal(await scenario(opened.client, one));
        first ??= outcome;
        assert.deepEqual(outcome, first, `another outcome than over ${WAYS[0].name}`);
      } catch (error) {
        throw new Error(`over ${one.name}: ${(error as Error).message}`, { cause: error });
      }
    }
  });
}

/** A user's message with a fresh id. */
export function userMessage(text: string, more: MessageInitShape<typeof MessageSchema> = {}): Message {
  const parts = [{ content: { case: "text", value: text } as const }];
  return create(MessageSchema, { messageId: crypto.randomUUID(), role: Role.USER, parts, ...(more as object) });
}

/** A send of such a message. */
export function sendOf(text: string): { message: Message } {
  return { message: userMessage(text) };
}

/** Sends, and answers the id of the task, which rests or runs where the text says. */
export async function taskFor(caller: A2AClient, text: string): Promise<string> {
  const { payload } = await caller.sendMessage({ ...sendOf(text), configuration: { returnImmediately: true } });
  return payload.case === "task" ? payload.value.id : assert.fail("no task");
}

/** A message as ProtoJSON. */
export function json<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): Outcome {
  return toJson(desc, message) as Outcome;
}

/** What a call fails with. */
export async function factsOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<ClientErrorFacts> {
  try {
    if ("then" in call) await call;
    else for await (const _ of call);
  } catch (error) {
    return clientErrorFacts(error);
  }
  return assert.fail("the call did not fail");
}

/** The facts that do not depend on who ended the call, here or there. */
export function asOutcome({ reason, domain, code, message, metadata, violations, retryAfterMs, unreached }: ClientErrorFacts): Outcome {
  return {
    reason,
    domain,
    code,
    message,
    metadata,
    violations: violations.map(({ field, description }) => `${field}: ${description}`),
    retryAfterMs,
    unreached,
  };
}

/** The frames of a stream in a word or two, and how it ended. */
export async function watch(stream: AsyncIterable<StreamResponse>): Promise<{ frames: string[]; end: ClientErrorFacts | "clean" }> {
  const frames: string[] = [];
  try {
    for await (const frame of stream) frames.push(brief(frameJson(frame)));
  } catch (error) {
    return { frames, end: clientErrorFacts(error) };
  }
  return { frames, end: "clean" };
}

/** Frames as ProtoJSON, to the end of the stream. */
export async function framesOf(stream: AsyncIterable<StreamResponse>): Promise<Outcome[]> {
  const frames: Outcome[] = [];
  for await (const frame of stream) frames.push(json(StreamResponseSchema, frame));
  return frames;
}
