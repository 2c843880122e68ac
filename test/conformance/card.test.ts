/** Rules about what a card says of its agent: the server hands it on as it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { openBed } from "../bindings/bed.ts";
import { ScenarioAgent } from "../bindings/scenario-agent.ts";

const scopes = { read: "reads", write: "writes" };
const tokenUrl = "https://auth.example/token";

/** All that an agent may say of itself, as ProtoJSON. */
const SAID = {
  provider: { url: "https://example.com", organization: "Example" },
  documentationUrl: "https://example.com/docs",
  iconUrl: "https://example.com/icon.png",
  securitySchemes: {
    key: { apiKeySecurityScheme: { description: "a key", location: "header", name: "x-key" } },
    http: { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
    code: {
      oauth2SecurityScheme: {
        flows: {
          authorizationCode: { authorizationUrl: "https://auth.example/", tokenUrl, refreshUrl: tokenUrl, scopes, pkceRequired: true },
        },
        oauth2MetadataUrl: "https://auth.example/.well-known/oauth-authorization-server",
      },
    },
    client: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl, scopes } } } },
    device: {
      oauth2SecurityScheme: { flows: { deviceCode: { deviceAuthorizationUrl: "https://auth.example/device", tokenUrl, scopes } } },
    },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://auth.example/.well-known/openid-configuration" } },
    mtls: { mtlsSecurityScheme: { description: "a certificate of ours" } },
  },
  securityRequirements: [{ schemes: { key: {}, code: { list: ["read"] } } }, { schemes: { mtls: {} } }],
  skills: [
    {
      id: "s",
      name: "S",
      description: "does s",
      tags: ["t"],
      examples: ["e"],
      inputModes: ["text/plain"],
      outputModes: ["image/png"],
      securityRequirements: [{ schemes: { code: { list: ["write"] } } }],
    },
  ],
} as const;

test("R-312 R-313 R-348 R-349 R-350 R-351 R-352 R-353 R-354 R-355 C-44 what an agent's card says stands in the card that is served", async () => {
  const { name, description, version, defaultInputModes, defaultOutputModes } = new ScenarioAgent().card as JsonObject;
  const whole = { name, description, version, defaultInputModes, defaultOutputModes, ...SAID } as unknown as JsonObject;
  const { $typeName: _, ...card } = fromJson(AgentCardSchema, whole);
  await using bed = await openBed({}, new ScenarioAgent({ card }));
  const { text } = await bed.rest.http.fetch({ method: "GET", target: "/.well-known/agent-card.json" });
  const served = JSON.parse(text) as JsonObject;
  assert.deepEqual(Object.fromEntries(Object.keys(SAID).map((member) => [member, served[member]])), SAID);
  assert.deepEqual(fromJson(AgentCardSchema, served).securitySchemes, card.securitySchemes);
});
