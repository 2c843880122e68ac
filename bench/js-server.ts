/** `@a2a-js/sdk` with the bench agent on its three bindings, put together as its samples do. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { AgentCard } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { JsBenchAgent } from "./js-agent.ts";
import { ready } from "./server-process.ts";

const HOST = "127.0.0.1";

const card: AgentCard = {
  name: "bench",
  description: "Emits as many updates as the message asks for",
  supportedInterfaces: ["GRPC", "HTTP+JSON", "JSONRPC"].map((protocolBinding) => ({
    url: `http://${HOST}`,
    protocolBinding,
    tenant: "",
    protocolVersion: "1.0",
  })),
  provider: undefined,
  version: "1.0.0",
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new JsBenchAgent());

const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/a2a/jsonrpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.use("/a2a/rest", restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const http = app.listen(0, HOST);
await once(http, "listening");
const { port } = http.address() as AddressInfo;

const grpc = new Server();
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));
const bind = promisify(grpc.bindAsync.bind(grpc));
const grpcPort = await bind(`${HOST}:0`, ServerCredentials.createInsecure());

ready({ grpc: `${HOST}:${grpcPort}`, rest: `http://${HOST}:${port}/a2a/rest`, jsonrpc: `http://${HOST}:${port}/a2a/jsonrpc` });
