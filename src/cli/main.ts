/** The command line: `throughline <command>`. */
import { existsSync, readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { commandLine } from "./command-line.ts";
import { EXIT, exitHelp } from "./exit-codes.ts";
import { serveCommand } from "./serve.ts";

// From the source and from dist/ alike: the nearest package.json above.
const manifest = [`../../package.json`, `../../../package.json`]
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url));
const { version } = JSON.parse(manifest === undefined ? "{}" : readFileSync(manifest, "utf8")) as { version: string };

const EXAMPLES = `
Examples:
  throughline serve agent.ts                            serves an agent
  throughline card --agent https://agent.example        what another one can
  throughline send 'hello'                              calls the one at THROUGHLINE_AGENT, or http://127.0.0.1:8080

throughline COMMAND --help shows the flags of a command, and more examples.`;

const program = new Command("throughline")
  .description("Serve an A2A 1.0 agent whose tasks outlive its processes, and call any agent so that a lost connection loses nothing.")
  .version(version);
program.addCommand(serveCommand()).addHelpText("after", `${EXAMPLES}\n${exitHelp()}`);
// A server does not wait for what calls one.
if (process.argv[2] !== "serve") {
  const { addCallingCommands } = await import("./calling-commands.ts");
  addCallingCommands(program);
}
endAsDocumented(program, commandLine());

// What cannot be written any more is told to who writes it; on stderr to nobody.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);
try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
}

/** What commander refuses throws, and names the help that has the answer. */
function endAsDocumented(command: Command, path: string): void {
  command.exitOverride().showHelpAfterError(`(${path} --help shows how)`);
  for (const one of command.commands) endAsDocumented(one, `${path} ${one.name()}`);
}
