/** Tables of the documents, made from what they describe. */
import { knownOptions } from "../../src/cli/read-options.ts";
import type { Reason } from "../../src/core/errors.ts";
import { connectError, wireError } from "../../src/rpc/errors.ts";
import { resolveOptions } from "../../src/server/options.ts";

const MIB = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60 * 1000;

/** Every option with its default, as rows of a table. */
export function optionRows(): string {
  const defaults: Record<string, unknown> = resolveOptions({});
  const rows = knownOptions().map(({ path, variable, description }) => {
    const [key = "", inner] = path;
    const held = defaults[key] as Record<string, unknown> | undefined;
    const value = inner === undefined ? held : held?.[inner];
    return `| \`${path.join(".")}\` | \`${variable}\` | ${key === "replica" ? "host name and process id" : shown(path, value)} | ${description} |\n`;
  });
  return `| key | variable | default | meaning |\n| --- | --- | --- | --- |\n${rows.join("")}`;
}

function shown(path: readonly string[], value: unknown): string {
  if (value === undefined) return "not set";
  if (value === "") return "empty";
  if (typeof value !== "number") return `\`${JSON.stringify(value).replaceAll('"', "")}\``;
  const name = path.at(-1) ?? "";
  if (name.endsWith("Bytes") && value % MIB === 0) return `${value} (${value / MIB} MiB)`;
  if (name.endsWith("Ms") && value >= DAY_MS) return `${value} (${value / DAY_MS} days)`;
  if (name.endsWith("Ms") && value > MINUTE_MS) return `${value} (${value / MINUTE_MS} min)`;
  return String(value);
}

/** Every reason: the compiler sees to it that none is missing. */
const REASONS: Readonly<Record<Reason, true>> = {
  TASK_NOT_FOUND: true,
  TASK_NOT_CANCELABLE: true,
  PUSH_NOTIFICATION_NOT_SUPPORTED: true,
  UNSUPPORTED_OPERATION: true,
  CONTENT_TYPE_NOT_SUPPORTED: true,
  INVALID_AGENT_RESPONSE: true,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: true,
  EXTENSION_SUPPORT_REQUIRED: true,
  VERSION_NOT_SUPPORTED: true,
  INVALID_ARGUMENT: true,
  UNAUTHENTICATED: true,
  PERMISSION_DENIED: true,
  TENANT_NOT_FOUND: true,
  MESSAGE_TOO_LARGE: true,
  RESOURCE_EXHAUSTED: true,
  STORE_UNAVAILABLE: true,
  NEWER_VERSION: true,
  IDENTITY_UNAVAILABLE: true,
  SERVER_DRAINING: true,
  STREAM_DRAINED: true,
  STREAM_STALLED: true,
  DEADLINE_EXCEEDED: true,
  CANCELLED: true,
  PARSE_ERROR: true,
  INVALID_REQUEST: true,
  METHOD_NOT_FOUND: true,
  PATH_NOT_FOUND: true,
  METHOD_NOT_ALLOWED: true,
  UNSUPPORTED_ENCODING: true,
  UNSUPPORTED_MEDIA_TYPE: true,
  INTERNAL: true,
};

/** Every reason with its codes, as rows of a table. */
export function errorRows(): string {
  const rows = (Object.keys(REASONS) as Reason[]).map((reason) => {
    const { status, http, jsonRpc, jsonRpcHttp } = wireError(connectError(reason, ""));
    return `| ${reason} | ${status} | ${http} | ${jsonRpc} | ${jsonRpcHttp} |\n`;
  });
  return `| reason | gRPC | HTTP | JSON-RPC | its HTTP status |\n| --- | --- | --- | --- | --- |\n${rows.join("")}`;
}
