/**
 * Serves a profile of the conformance agent until SIGTERM or SIGINT: `npm run conformance-agent -- --profile full`, and as the traversal
 * suite calls it, `npm run itk-agent -- --httpPort 8080 --grpcPort 50051`.
 */
import { inspect, parseArgs } from "node:util";
import { type Log, OptionsError, type RunningServer, serve, type ServeInit, type ServerOptionsInput } from "../../src/index.ts";
import { type Profile, PROFILES } from "./profiles.ts";

const USAGE = `usage: conformance-agent [--profile ${Object.keys(PROFILES).join("|")}] [--http-port PORT] [--grpc-port PORT] [--redis URL]
                         [--json-content-type application/a2a+json|application/json] [--no-webhook-allow-list]
`;

/** What goes wrong, for a person who reads it beside the suite's own output. */
const log: Log = {
  info: () => undefined,
  warn: (facts, message) => void process.stderr.write(`${message} ${inspect(facts)}\n`),
  error: (facts, message) => void process.stderr.write(`${message} ${inspect(facts)}\n`),
};

try {
  const { profile, guarded, options } = readCommandLine();
  // The port of health and readiness is nobody's concern here, and must not stop a second profile beside this one.
  const served: ServeInit = PROFILES[profile];
  const push = guarded ? { ...served.push, allow: [] } : served.push;
  const server = await serve({ ...served, ...options, ...(push && { push }), opsPort: 0, log });
  drainOnSignals(server);
  const { host } = server.options;
  process.stdout.write(
    `conformance-agent ${profile} is ready: http://${host}:${server.ports.http} and gRPC at ${host}:${server.ports.grpc}\n`,
  );
} catch (error) {
  const wrong = error instanceof OptionsError || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS") === true;
  if (!wrong) throw error;
  process.stderr.write(`conformance-agent: ${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}

/** Reads the flags. Throws what `parseArgs` throws, and {@link OptionsError}. */
function readCommandLine(): { profile: Profile; guarded: boolean; options: ServerOptionsInput } {
  const { values } = parseArgs({
    options: {
      profile: { type: "string", default: "full" },
      "http-port": { type: "string" },
      "grpc-port": { type: "string" },
      // The traversal suite's spelling.
      httpPort: { type: "string" },
      grpcPort: { type: "string" },
      redis: { type: "string" },
      "json-content-type": { type: "string" },
      "no-webhook-allow-list": { type: "boolean" },
    },
  });
  const { profile, redis: url, "json-content-type": jsonContentType } = values;
  const httpPort = values["http-port"] ?? values.httpPort;
  const grpcPort = values["grpc-port"] ?? values.grpcPort;
  if (!isProfile(profile)) throw new OptionsError(`--profile: there is no ${profile}`);
  const options = {
    ...(httpPort !== undefined && { httpPort: Number(httpPort) }),
    ...(grpcPort !== undefined && { grpcPort: Number(grpcPort) }),
    // One prefix is one agent's.
    ...(url !== undefined && { redis: { url, prefix: `conformance-${profile}` } }),
    ...(jsonContentType !== undefined && { jsonContentType: jsonContentType as ServerOptionsInput["jsonContentType"] }),
  };
  return { profile, options, guarded: values["no-webhook-allow-list"] === true };
}

function isProfile(name: string): name is Profile {
  return Object.hasOwn(PROFILES, name);
}

/** Nothing stands before this agent that must learn first that it goes: it drains at once. A second signal skips the waiting. */
function drainOnSignals(server: RunningServer): void {
  const skip = new AbortController();
  const stop = (): void => {
    if (server.state === "draining") return skip.abort();
    server.drain({ atOnce: true, skip: skip.signal }).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}
