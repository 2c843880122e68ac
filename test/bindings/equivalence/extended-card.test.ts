import assert from "node:assert/strict";
import { suite } from "node:test";
import type { AgentCardInit, CardReader } from "../../../src/core/agent.ts";
import { everywhere, failureOf, sharedBed } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import { ScenarioAgent } from "../scenario-agent.ts";

const TOKENS = { tokens: { a: "alice", b: "bob" } };
const [ALICE, BOB] = [{ headers: { authorization: "Bearer a" } }, { headers: { authorization: "Bearer b" } }];
const DECLARED = { capabilities: { extendedAgentCard: true } };

/** Has a card for alice, and none for bob. */
class Extended extends ScenarioAgent {
  override async extendedCard({ principal, tenant }: CardReader): Promise<AgentCardInit | undefined> {
    if (principal !== "alice") return undefined;
    return { ...this.card, skills: [{ id: "more", name: "More", description: `for ${principal} of ${tenant}`, tags: [] }] };
  }
}

suite("an extended card", () => {
  const bed = sharedBed({ ...TOKENS, tenants: ["acme"] }, new Extended());

  everywhere(
    "R-132 R-136 R-137 R-139 is for each caller its own, with all that the server adds to a card",
    bed,
    async (caller) => {
      const { message, headers } = await caller.unary("GetExtendedAgentCard", { tenant: "acme" }, ALICE);
      assert.deepEqual(message["skills"], [{ id: "more", name: "More", description: "for alice of acme" }]);
      const { supportedInterfaces, capabilities } = message as { supportedInterfaces: object[]; capabilities: Record<string, unknown> };
      assert.equal(supportedInterfaces.length, 3);
      assert.equal(capabilities["extendedAgentCard"], true);
      assert.equal(capabilities["streaming"], true);
      assert.deepEqual(message["securitySchemes"], { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } });
      assert.match(headers.get("cache-control") ?? "", /^private, max-age=\d+$/);
      return { ...message, supportedInterfaces: [] };
    },
    { behindFront: "the upstream is asked by the front, or with credentials that are handed on: test/upstream" },
  );

  everywhere(
    "R-133 that is not there for a caller is not configured",
    bed,
    async (caller) => {
      return checkFailure(caller, await failureOf(caller.unary("GetExtendedAgentCard", {}, BOB)), "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
    },
    { behindFront: "the upstream knows the front only" },
  );

  everywhere("R-134 wants credentials", bed, async (caller) => {
    return checkFailure(caller, await failureOf(caller.unary("GetExtendedAgentCard")), "UNAUTHENTICATED");
  });
});

suite("an extended card that the agent declares and does not have", () => {
  const bed = sharedBed(TOKENS, new ScenarioAgent({ card: DECLARED }));

  everywhere("R-133 is not configured", bed, async (caller) => {
    return checkFailure(caller, await failureOf(caller.unary("GetExtendedAgentCard", {}, ALICE)), "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
  });
});

suite("an extended card where nobody is authenticated", () => {
  const bed = sharedBed({}, new Extended({ card: DECLARED }));

  everywhere("R-132 R-134 is off, whatever the agent declares", bed, async (caller) => {
    return checkFailure(caller, await failureOf(caller.unary("GetExtendedAgentCard")), "UNSUPPORTED_OPERATION");
  });
});

suite("an extended card where some callers are let in without credentials", () => {
  const authenticate = (headers: Headers): { name: string } => ({ name: headers.has("authorization") ? "alice" : "anonymous" });
  const bed = sharedBed({ authenticate }, new Extended());

  everywhere("R-134 is not for those", bed, async (caller) => {
    assert.equal((await caller.unary("GetExtendedAgentCard", {}, ALICE)).message["name"], "scenarios");
    await caller.unary("ListTasks");
    return checkFailure(caller, await failureOf(caller.unary("GetExtendedAgentCard")), "UNAUTHENTICATED");
  });
});
