/** What each profile of the conformance agent serves: an agent, and the options that its suites need. */
import type { Agent, AgentCardInit, ServeInit } from "../../src/index.ts";
import { benchAgent } from "./bench-agent.ts";
import { dummyAgent } from "./dummy-agent.ts";
import { everybody } from "./everybody.ts";
import { itkAgent } from "./itk-agent.ts";
import { tckAgent } from "./tck-agent.ts";

/** The extension that profile `extreq` requires. */
export const REQUIRED_EXTENSION = "urn:a2a:tck:required-extension";

/** Suites use ids again, and each use is to begin a task. */
const shared = { dedupe: { mode: "off" } } as const;

/** Webhooks; the receivers of suites are on this machine. */
const push = { enabled: true, allow: ["localhost", "127.0.0.0/8", "::1/128"] };

const EXTENDED_SKILL = { id: "extended", name: "Extended", description: "Shown in the extended card only.", tags: ["conformance"] };

/** Everything on; the extended card has one skill more than the public one. */
function full(capabilities: AgentCardInit["capabilities"] = {}): ServeInit {
  const { skills = [], ...rest } = tckAgent.card;
  const card: AgentCardInit = {
    ...rest,
    skills,
    capabilities,
    // Required nowhere: see everybody.ts.
    securitySchemes: { bearer: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } } },
  };
  const agent: Agent = { ...tckAgent, card, extendedCard: () => ({ ...card, skills: [...skills, EXTENDED_SKILL] }) };
  return { ...shared, agent, authenticate: everybody, push };
}

/** The profiles by name. A card can show a capability on or off, not both, so one agent cannot take all tests of a suite. */
export const PROFILES = {
  full: full(),
  /** Every capability off, for the tests of what is refused then. */
  minimal: { ...shared, agent: { ...tckAgent, card: { ...tckAgent.card, capabilities: { streaming: false } } } },
  /** Refuses every call that does not list the extension, so all but the tests of that fail here. */
  extreq: full({ extensions: [{ uri: REQUIRED_EXTENSION, description: "Does nothing but to be required.", required: true }] }),
  /** Its suites post by hand, some without a version. */
  dummy: { ...shared, agent: dummyAgent, assumeVersion: "1.0" },
  /** Load generators hold many tasks at once. */
  bench: { ...shared, agent: benchAgent, capacity: 10_000 },
  /** Calls others like it, which repeat no ids. */
  itk: { agent: itkAgent, push },
} as const satisfies Readonly<Record<string, ServeInit>>;

/** The name of a profile. */
export type Profile = keyof typeof PROFILES;
