/** `throughline completion`: a script that completes commands and flags, made of their definitions. */
import { Argument, Command, type Option } from "commander";
import { EXIT } from "./exit-codes.ts";
import { write } from "./output.ts";
import { quoted } from "./shell-word.ts";

const EXAMPLES = `
Examples:
  echo 'source <(throughline completion bash)' >> ~/.bashrc
  echo 'source <(throughline completion zsh)' >> ~/.zshrc     below compinit`;

/** The command; it completes all that `program` has when it runs. */
export function completionCommand(program: Command): Command {
  return new Command("completion")
    .description("Print a script that completes commands and flags.")
    .addArgument(new Argument("<shell>", "whose").choices(Object.keys(GLUE)))
    .addHelpText("after", EXAMPLES)
    .action(async (shell: keyof typeof GLUE) => {
      await write(`${candidates(program)}${GLUE[shell]}`);
      process.exitCode = EXIT.done;
    });
}

/** How each shell asks for the words. Without one it completes files. */
const GLUE = {
  bash: `_throughline() {
  local words
  words=$(_throughline_candidates "\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _throughline throughline
`,
  zsh: `_throughline() {
  local -a found
  found=(\${=$(_throughline_candidates "\${(@)words[2,CURRENT]}")})
  if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _throughline throughline
`,
} as const;

interface Place {
  /** `/push/create`; empty for the program. */
  readonly path: string;
  readonly command: Command;
}

/** A function for either shell: of the words so far, the last one being completed, it prints what that may be. */
function candidates(program: Command): string {
  const places = placesOf({ path: "", command: program });
  const options = places.flatMap(({ path, command }) => optionsOf(command).map((option) => ({ path, option })));
  const valued = options.filter(({ option }) => option.required || option.optional);
  return `_throughline_candidates() {
  local at= before=
  while [ $# -gt 1 ]; do
    before=$1
    case "$at/$1" in
      ${places.flatMap(({ path }) => (path === "" ? [] : [quoted(path)])).join("|")}) at="$at/$1" ;;
    esac
    shift
  done
  case "$at $before" in
${valued.map(({ path, option }) => `    ${quoted(`${path} ${option.long}`)}) echo ${quoted((option.argChoices ?? []).join(" "))}; return ;;`).join("\n")}
  esac
  case "$1" in
    -*) case "$at" in
${places.map(({ path, command }) => `      ${quoted(path)}) echo ${quoted(optionsOf(command).map(longOf).join(" "))} ;;`).join("\n")}
    esac ;;
    *) case "$at" in
${places.map(({ path, command }) => `      ${quoted(path)}) echo ${quoted(wordsOf(command).join(" "))} ;;`).join("\n")}
    esac ;;
  esac
}
`;
}

function placesOf(place: Place): readonly Place[] {
  return [place, ...place.command.commands.flatMap((command) => placesOf({ path: `${place.path}/${command.name()}`, command }))];
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

function longOf({ long }: Option): string {
  return long ?? "";
}

/** What may stand there that is no flag. */
function wordsOf(command: Command): readonly string[] {
  const below = command.commands.map((one) => one.name());
  return [...below, ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])];
}
