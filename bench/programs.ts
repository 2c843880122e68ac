/** The programs that are measured. */
import { type Binding, BINDINGS } from "./drivers/driver.ts";

/** A server with the bench agent. */
export interface Program {
  /** As the outcome calls it. */
  readonly name: string;
  readonly main: URL;
  readonly speaks: readonly Binding[];
  /** Whether it keeps its tasks in the Redis whose URL is its argument, so that replicas of it can share the load. */
  readonly shares: boolean;
}

/** The server of this tree. */
export const OURS: Program = { name: "ours", main: new URL("our-server.ts", import.meta.url), speaks: BINDINGS, shares: true };

/** The same as a baseline, in processes of its own: what one side has served must not count for the other. */
export const OURS_BESIDE: Program = { ...OURS, name: "ours-beside" };

/** `@a2a-js/sdk`. */
export const JS: Program = {
  name: "js",
  main: new URL("js-server.ts", import.meta.url),
  speaks: ["grpc", "rest", "jsonrpc"],
  shares: false,
};

/** A front before the upstream that its first argument names. */
export const FRONT: Program = { name: "front", main: new URL("front-server.ts", import.meta.url), speaks: ["grpc"], shares: false };

/** grpc-js alone, which holds streams and does nothing else. */
export const BARE_GRPC: Program = {
  name: "bare-grpc",
  main: new URL("store/bare-grpc-server.ts", import.meta.url),
  speaks: ["grpc"],
  shares: false,
};
