/** The durable front: `throughline/upstream`. */
export { UpstreamAgent, upstreamAgent } from "./upstream-agent.ts";
export type { TellApart } from "./callers-by-credentials.ts";
export type { UpstreamOptions, UpstreamOptionsInput } from "./upstream-options.ts";
