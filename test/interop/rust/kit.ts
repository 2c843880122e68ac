/** Rust: the official SDK. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command, ForeignKit } from "../foreign-kit.ts";
import { runCommand } from "../run-command.ts";

const HERE = import.meta.dirname;
const MANIFEST = readFileSync(join(HERE, "Cargo.toml"), "utf8");

const sdk = (crate: string) =>
  ({
    name: crate,
    version: new RegExp(`${crate}".*version = "=([^"]+)"`).exec(MANIFEST)?.[1] ?? "",
    bindings: ["grpc", "rest", "jsonrpc"],
  }) as const;

export const rust: ForeignKit = {
  name: "rust",
  title: "Rust",
  needs: [{ program: "cargo", install: "https://rustup.rs" }],
  build: async (cache) => {
    await runCommand("cargo", ["build", "--locked", "--target-dir", join(cache, "target")], { cwd: HERE });
  },
  servers: (cache) => [{ ...sdk("a2a-server-lf"), command: program(cache, "server") }],
  clients: (cache) => [{ ...sdk("a2a-client-lf"), command: program(cache, "client") }],
};

function program(cache: string, name: string): Command {
  return { file: join(cache, "target", "debug", name), args: [] };
}
