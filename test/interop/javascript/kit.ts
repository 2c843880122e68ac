/** JavaScript: the official SDK, which is among the development dependencies; nothing is to be built. */
import project from "../../../package.json" with { type: "json" };
import type { Command, ForeignKit } from "../foreign-kit.ts";

const SDK = {
  name: "@a2a-js/sdk",
  version: project.devDependencies["@a2a-js/sdk"],
  bindings: ["grpc", "rest", "jsonrpc"],
} as const;

const program = (file: string): Command => ({ file: process.execPath, args: [`test/interop/javascript/${file}`] });

export const javascript: ForeignKit = {
  name: "javascript",
  title: "JavaScript",
  needs: [],
  build: () => Promise.resolve(),
  servers: () => [{ ...SDK, command: program("server.ts") }],
  clients: () => [{ ...SDK, command: program("client.ts") }],
};
