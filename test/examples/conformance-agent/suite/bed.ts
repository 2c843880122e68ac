/** A profile of the conformance agent in this process, and the suites' clients for what its card names. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Profile, PROFILES } from "../../../../examples/conformance-agent/profiles.ts";
import { serve, type ServerOptionsInput } from "../../../../src/index.ts";
import { HttpClient, type HttpReply } from "../../../bindings/callers/http.ts";
import type { SuiteClient, SuiteHeaders } from "./client.ts";
import { GrpcSuiteClient } from "./grpc.ts";
import { JsonRpcSuiteClient } from "./json-rpc.ts";
import { RestSuiteClient } from "./rest.ts";

/** One client of each transport. */
type SuiteClients = readonly [GrpcSuiteClient, RestSuiteClient, JsonRpcSuiteClient];

/** An agent under test. */
export interface SuiteBed extends AsyncDisposable {
  /** The card as it was fetched, without naming a version. */
  readonly card: JsonObject;
  readonly clients: SuiteClients;
  /** Other clients, which send these headers beside the version. */
  withHeaders(headers: SuiteHeaders): SuiteClients;
}

/** No WORKING by the clock, no waiting in a drain. */
const QUIET = { grpcPort: 0, httpPort: 0, opsPort: 0, workingAfterMs: 2 ** 30, drainMs: 0, streamGraceMs: 0 };

/** Serves a profile in this process, on free ports. */
export async function serveProfile(profile: Profile, options: ServerOptionsInput = {}): Promise<SuiteBed> {
  await using parts = new AsyncDisposableStack();
  const server = parts.use(await serve({ ...PROFILES[profile], ...QUIET, ...options }));
  return await bedAt(server.ports.http, parts);
}

/** The bed of an agent whose card is at this port; what `parts` holds goes with it. */
export async function bedAt(httpPort: number, parts: AsyncDisposableStack = new AsyncDisposableStack()): Promise<SuiteBed> {
  const { status, text } = await fetchCard(httpPort);
  assert.equal(status, 200);
  const card = JSON.parse(text) as JsonObject;
  const withHeaders = (headers: SuiteHeaders): SuiteClients => {
    const made = clientsFor(card, headers);
    for (const client of made) kept.defer(() => client.close());
    return made;
  };
  const kept = parts.move();
  return { card, clients: withHeaders({}), withHeaders, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** The card as a suite fetches it: without A2A-Version. */
export async function fetchCard(httpPort: number): Promise<HttpReply> {
  const http = new HttpClient(httpPort);
  try {
    return await http.fetch({ method: "GET", target: "/.well-known/agent-card.json" });
  } finally {
    http.close();
  }
}

/** The first interface of each binding counts, whatever its version. */
function clientsFor(card: JsonObject, headers: SuiteHeaders): SuiteClients {
  const interfaces = card["supportedInterfaces"] as { url: string; protocolBinding: string }[];
  const url = (binding: string): string => interfaces.find(({ protocolBinding }) => protocolBinding === binding)?.url ?? "";
  return [
    new GrpcSuiteClient(url("GRPC"), headers),
    new RestSuiteClient(url("HTTP+JSON"), headers),
    new JsonRpcSuiteClient(url("JSONRPC"), headers),
  ];
}

/** A message whose id begins with the trigger and ends as a suite's ids do. */
export function triggered(prefix: string, client: SuiteClient, more: JsonObject = {}): JsonObject {
  const messageId = `${prefix}-${client.transport}-${randomUUID().slice(0, 8)}`;
  return { messageId, role: "ROLE_USER", parts: [{ text: "Hello from the suite" }], ...more };
}
