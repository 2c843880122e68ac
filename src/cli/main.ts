/** The command line: `throughline <command>`. */
import { Command } from "commander";
import { serveCommand } from "./serve.ts";

const program = new Command("throughline")
  .description("A durable A2A 1.0 service: one ordered log per task, over gRPC, HTTP+JSON and JSON-RPC.")
  .showHelpAfterError()
  .addCommand(serveCommand());

await program.parseAsync();
