/** The command line: `throughline <command>`. */
import { existsSync, readFileSync } from "node:fs";
import { Command } from "commander";
import { serveCommand } from "./serve.ts";

// From the source and from dist/ alike: the nearest package.json above.
const manifest = [`../../package.json`, `../../../package.json`]
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));
const { version } = JSON.parse(manifest === undefined ? "{}" : readFileSync(manifest, "utf8")) as { version: string };

const program = new Command("throughline")
  .description("A durable A2A 1.0 service: one ordered log per task, over gRPC, HTTP+JSON and JSON-RPC.")
  .version(version)
  .showHelpAfterError()
  .addCommand(serveCommand());

await program.parseAsync();
