/** Programs for the shell: curl for HTTP, grpcurl for gRPC by reflection. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { installLine } from "../../apt.ts";
import type { ForeignKit } from "../foreign-kit.ts";
import { runCommand } from "../run-command.ts";

const GRPCURL = "v1.9.3";

const program = (file: string): string => `test/interop/shell/${file}`;

/** Nothing is built. */
export const curl: ForeignKit = {
  name: "curl",
  title: "Shell",
  needs: [{ program: "curl", install: installLine("curl") }],
  build: () => Promise.resolve(),
  servers: () => [],
  clients: () => [
    {
      name: "curl",
      // Whatever the machine has: nothing of it is pinned.
      version: "",
      command: { file: process.execPath, args: [program("curl.ts")] },
      bindings: ["rest", "jsonrpc"],
    },
  ],
};

/** Built by Go. */
export const grpcurl: ForeignKit = {
  name: "grpcurl",
  title: "Shell",
  needs: [{ program: "go", install: "https://go.dev/doc/install" }],
  build: async (cache) => {
    if (existsSync(join(cache, GRPCURL, "grpcurl"))) return;
    await runCommand("go", ["install", `github.com/fullstorydev/grpcurl/cmd/grpcurl@${GRPCURL}`], { env: { GOBIN: join(cache, GRPCURL) } });
  },
  servers: () => [],
  clients: (cache) => [
    {
      name: "grpcurl (reflection)",
      version: GRPCURL.slice(1),
      command: { file: process.execPath, args: [program("grpcurl.ts"), join(cache, GRPCURL, "grpcurl")] },
      bindings: ["grpc"],
    },
  ],
};
