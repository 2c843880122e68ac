/** Which of a card's interfaces are used, in which order (R-322, CL-01, C-48). */
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { ClientBinding } from "./client-options.ts";

/** An interface that this client can speak. */
export interface Endpoint {
  readonly binding: ClientBinding;
  readonly url: string;
  /** Put into every request; empty where the interface names none. */
  readonly tenant: string;
}

/** What every call says that it speaks (CL-02). */
export const A2A_VERSION = "1.0";

const VERSION = /^1\.0(\.\d+)?$/;
const A2A_BINDINGS: readonly ClientBinding[] = ["GRPC", "HTTP+JSON", "JSONRPC"];

/** The interfaces of version 1.0 that are spoken here: by preference where there is one, else in the card's order. */
export function endpointsOf(card: AgentCard, preference: readonly ClientBinding[] | undefined): readonly Endpoint[] {
  const declared = card.supportedInterfaces.filter(({ protocolVersion }) => VERSION.test(protocolVersion));
  const spoken = declared.flatMap(({ protocolBinding, url, tenant }): Endpoint[] => {
    const binding = A2A_BINDINGS.find((known) => known === protocolBinding);
    return binding === undefined ? [] : [{ binding, url, tenant }];
  });
  return preference === undefined
    ? spoken
    : preference.flatMap((binding) => (binding === "CONNECT" ? connectOf(spoken) : spoken.filter((one) => one.binding === binding)));
}

/** Why {@link endpointsOf} has none: what was asked for, and what the agent has. */
export function nothingSpoken({ supportedInterfaces }: AgentCard, preference: readonly ClientBinding[] | undefined): string {
  const listed = supportedInterfaces.map(({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`);
  const wanted = preference === undefined ? "interface that this client speaks" : `${preference.join(" or ")} interface, as was asked for`;
  return `the agent offers no ${wanted}: it has ${listed.join(", ") || "none"}`;
}

/** Connect at the origins of the interfaces over HTTP: where this project's server has it. */
function connectOf(spoken: readonly Endpoint[]): readonly Endpoint[] {
  return spoken
    .filter(({ binding }) => binding !== "GRPC")
    .map(({ url, tenant }) => ({ binding: "CONNECT", url: new URL(url).origin, tenant }));
}

/** Host and port that an endpoint is reached at; undefined where only its transport can tell (`dns:`, `unix:`). */
export function addressOf({ binding, url }: Endpoint): { readonly host: string; readonly port: number } | undefined {
  const bare = binding === "GRPC" && !/^[a-z][a-z0-9+.-]*:\/\//i.test(url);
  if (bare && /^(dns|unix|ipv4|ipv6|xds)/i.test(url) && !/^[a-z0-9.-]+:\d+$/i.test(url)) return undefined;
  const parsed = URL.parse(bare ? `http://${url}` : url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return undefined;
  return { host: parsed.hostname.replace(/^\[|\]$/g, ""), port: Number(parsed.port) || (parsed.protocol === "https:" ? 443 : 80) };
}
