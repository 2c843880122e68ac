/** The programs that are measured. */
import { type Binding, BINDINGS } from "./drivers/driver.ts";
import { type Foreign, GO_SERVER, PYTHON_SERVER } from "./foreign/foreign-program.ts";

/** A server with the bench agent. */
export interface Program {
  /** As the outcome calls it. */
  readonly name: string;
  /** A module of ours that Node runs, or a program of another language. */
  readonly main: URL | Foreign;
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

/** Over JSON-RPC they do what they do over HTTP+JSON, and the whole table is to take less than half an hour. */
const MEASURED: readonly Binding[] = ["grpc", "rest"];

/** The SDK for Go. */
export const GO: Program = { name: "go", main: GO_SERVER, speaks: MEASURED, shares: false };

/** The SDK for Python. */
export const PYTHON: Program = { name: "python", main: PYTHON_SERVER, speaks: MEASURED, shares: false };

/** grpc-js alone with bytes that are passed through: no task is kept but for those who follow it now. */
export const BARE: Program = { name: "bare", main: new URL("bare-server.ts", import.meta.url), speaks: ["grpc"], shares: false };

/** What ours can be beside. */
export const OTHERS: readonly Program[] = [JS, GO, PYTHON, BARE];

/** A front before the upstream that its first argument names. */
export const FRONT: Program = { name: "front", main: new URL("front-server.ts", import.meta.url), speaks: ["grpc"], shares: false };
