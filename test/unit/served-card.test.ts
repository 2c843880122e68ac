/** A card that is not what the types say is refused before anything is served. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, AgentCardInit } from "../../src/core/agent.ts";
import { OptionsError } from "../../src/server/options.ts";
import { KeptLog } from "../worker/bed.ts";
import { serve } from "../../src/server/serve.ts";

const CARD = { name: "x", description: "d", version: "1", defaultInputModes: ["text/plain"], defaultOutputModes: [], skills: [] };
const PORTS = { host: "127.0.0.1", grpcPort: 0, httpPort: 0, opsPort: 0 };

const WRONG: readonly (readonly [member: object, message: string])[] = [
  [{ name: 5 }, "agent.card.name: a string is expected, this is 5"],
  [{ skills: 5 }, "agent.card.skills: a list is expected, this is 5"],
  [{ skills: null }, "agent.card.skills: a list is expected, this is null"],
  [{ skills: ["write"] }, 'agent.card.skills[0]: an object is expected, this is "write"'],
  [{ skills: [{ id: "a" }, { id: 5 }] }, "agent.card.skills[1].id: a string is expected, this is 5"],
  [{ skills: [{ tags: "x" }] }, 'agent.card.skills[0].tags: a list is expected, this is "x"'],
  [{ defaultInputModes: "text/plain" }, 'agent.card.defaultInputModes: a list is expected, this is "text/plain"'],
  [{ defaultInputModes: [{}] }, "agent.card.defaultInputModes[0]: a string is expected, this is an object"],
  [{ capabilities: [] }, "agent.card.capabilities: an object is expected, this is a list"],
  [{ capabilities: { streaming: "yes" } }, 'agent.card.capabilities.streaming: true or false is expected, this is "yes"'],
  [{ provider: "me" }, 'agent.card.provider: an object is expected, this is "me"'],
  [{ skils: [] }, "agent.card.skils: there is no such member"],
  [{ name: 5, version: 1 }, "agent.card.name: a string is expected, this is 5\nagent.card.version: a string is expected, this is 1"],
  [{ securitySchemes: [] }, "agent.card.securitySchemes: an object is expected, this is a list"],
  [
    { securitySchemes: { a: { scheme: { case: "apiKey", value: {} } } } },
    'agent.card.securitySchemes["a"].scheme.case: one of apiKeySecurityScheme, httpAuthSecurityScheme, oauth2SecurityScheme, openIdConnectSecurityScheme, mtlsSecurityScheme is expected, this is "apiKey"',
  ],
  [
    { securitySchemes: { a: { scheme: { case: "mtlsSecurityScheme", value: { description: 1 } } } } },
    'agent.card.securitySchemes["a"].scheme.value.description: a string is expected, this is 1',
  ],
];

function agentWith(card: unknown): Agent {
  return { card: card as AgentCardInit, async *run() {} };
}

suite("a card", () => {
  for (const [member, message] of WRONG)
    test(`is refused, and what is wrong is named: ${JSON.stringify(member)}`, async () => {
      await assert.rejects(serve({ agent: agentWith({ ...CARD, ...member }), ...PORTS }), new OptionsError(message));
    });

  test("that is none is refused", async () => {
    await assert.rejects(
      serve({ agent: agentWith(undefined), ...PORTS }),
      new OptionsError("agent.card: an object is expected, this is undefined"),
    );
  });

  for (const [card, members] of [
    [{ name: "x" }, ["description", "version"]],
    [{ ...CARD, description: "" }, ["description"]],
    [CARD, undefined],
  ] as const)
    test(`R-311 that says nothing in ${members?.join() ?? "no member"} that it is to have is served, with a warning where it does`, async () => {
      const log = new KeptLog();
      await using _server = await serve({ agent: agentWith(card), log, ...PORTS });
      const warned = log.lines.filter(({ message }) => message.startsWith("the card says nothing"));
      assert.deepEqual(
        warned.map(({ facts }) => facts["members"]),
        members === undefined ? [] : [members],
      );
    });

  const whole = { ...CARD, iconUrl: undefined, capabilities: { extensions: [{ uri: "urn:x", params: { a: [1, { b: null }] } }] } };
  for (const [what, card] of [
    ["with all kinds of members", whole],
    ["that is a message already", create(AgentCardSchema, whole)],
  ] as const)
    test(`${what} is served`, async () => {
      await using server = await serve({ agent: agentWith(card), ...PORTS });
      assert.equal(server.card.name, "x");
      assert.deepEqual(server.card.capabilities?.extensions[0]?.params, { a: [1, { b: null }] });
    });
});
