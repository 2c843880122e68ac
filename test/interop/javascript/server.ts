/** `@a2a-js/sdk` with the word agent on its three bindings, put together as its samples do. Ends with its stdin. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { AgentCard } from "@a2a-js/sdk";
import {
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { WordExecutor } from "./word-executor.ts";

const HOST = "127.0.0.1";

const app = express();
const http = app.listen(0, HOST);
await once(http, "listening");
const { port } = http.address() as AddressInfo;
const grpc = new Server();
const bind = promisify(grpc.bindAsync.bind(grpc));
const grpcPort = await bind(`${HOST}:0`, ServerCredentials.createInsecure());

const urls = {
  GRPC: `${HOST}:${grpcPort}`,
  "HTTP+JSON": `http://${HOST}:${port}/a2a/rest`,
  JSONRPC: `http://${HOST}:${port}/a2a/jsonrpc`,
};
const card: AgentCard = {
  name: "words",
  description: "Does what the first word says",
  supportedInterfaces: Object.entries(urls).map(([protocolBinding, url]) => ({ url, protocolBinding, tenant: "", protocolVersion: "1.0" })),
  provider: undefined,
  version: "1.0.0",
  capabilities: { streaming: true, pushNotifications: true, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};
const hooks = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new WordExecutor(),
  new DefaultExecutionEventBusManager(),
  hooks,
  new DefaultPushNotificationSender(hooks),
);

app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/a2a/jsonrpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.use("/a2a/rest", restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));

process.stdin.resume().once("end", () => process.exit(0));
process.stdout.write(`ready ${JSON.stringify({ card: `http://${HOST}:${port}/.well-known/agent-card.json`, grpc: urls.GRPC })}\n`);
