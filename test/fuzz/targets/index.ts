/** All that is fuzzed. */
import type { Target } from "../target.ts";
import { http } from "./http.ts";
import { http2 } from "./http2.ts";
import { jsonRpc } from "./json-rpc.ts";
import { sse } from "./sse.ts";
import { stored } from "./stored.ts";
import { tokens } from "./tokens.ts";

/** In the order in which they run. */
export const TARGETS: readonly [Target, ...Target[]] = [http, http2, jsonRpc, sse, tokens, stored];
