/**
 * Builds what a Dockerfile says without an engine: a folder stands for the root of each stage, commands run in it with this machine's Node and
 * npm. It knows the instructions that our files use, and refuses others.
 */
import { execFile } from "node:child_process";
import { chmodSync, cpSync, lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { promisify } from "node:util";
import {
  type Copy,
  DockerfileParser,
  type Entrypoint,
  type Env,
  type From,
  type Instruction,
  type JSONInstruction,
  type Label,
} from "dockerfile-ast";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { ROOT } from "../e2e/server-process.ts";

const RUN_MS = 240_000;

/** What a stage has come to. */
interface Stage {
  readonly root: string;
  workdir: string;
  user: string;
  env: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  entrypoint: readonly string[];
  command: readonly string[];
}

/** An image: its files below `root`, and how it is run. Disposing removes the files. */
export interface Image extends Readonly<Stage>, Disposable {}

/** Builds the Dockerfile of a folder; `images` are those by whose names it may begin, every other base is an empty folder. */
export async function buildImage(context: string, images: Readonly<Record<string, Image>> = {}): Promise<Image> {
  const file = DockerfileParser.parse(readFileSync(join(context, "Dockerfile"), "utf8"));
  const args = new Map(file.getInitialARGs().map((arg) => [arg.getProperty()?.getName() ?? "", arg.getProperty()?.getValue() ?? ""]));
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const instruction of file.getInstructions()) {
    if (instruction.getKeyword() === "FROM") {
      const from = instruction as From;
      const image = (from.getImage() ?? "").replace(/^\$\{(\w+)\}$/, (_, name: string) => args.get(name) ?? "");
      stage = begin(images[image]);
      stages.set(from.getBuildStage() ?? "", stage);
    } else if (stage !== undefined) await step(stage, instruction, { context, stages });
  }
  if (stage === undefined) throw new Error(`${context} has no stage`);
  for (const other of stages.values()) if (other !== stage) removeFolder(other.root);
  const { root } = stage;
  return { ...stage, [Symbol.dispose]: () => removeFolder(root) };
}

function begin(base: Stage | undefined): Stage {
  const root = temporaryFolder("image");
  chmodSync(root, 0o755);
  if (base !== undefined) cpSync(base.root, root, { recursive: true, verbatimSymlinks: true });
  return { workdir: "/", user: "", env: {}, labels: {}, entrypoint: [], command: [], ...base, root };
}

interface Surroundings {
  readonly context: string;
  readonly stages: ReadonlyMap<string, Stage>;
}

async function step(stage: Stage, instruction: Instruction, around: Surroundings): Promise<void> {
  const text = instruction.getArgumentsContent() ?? "";
  switch (instruction.getKeyword()) {
    case "ARG":
    case "EXPOSE":
      return;
    case "WORKDIR":
      stage.workdir = posix.resolve(stage.workdir, text);
      mkdirSync(join(stage.root, stage.workdir), { recursive: true });
      return;
    case "USER":
      stage.user = text;
      return;
    case "ENV":
      stage.env = { ...stage.env, ...properties(instruction as Env) };
      return;
    case "LABEL":
      stage.labels = { ...stage.labels, ...properties(instruction as Label) };
      return;
    case "ENTRYPOINT":
      stage.entrypoint = words(instruction as Entrypoint);
      return;
    case "CMD":
      stage.command = words(instruction as JSONInstruction);
      return;
    case "COPY":
      copy(stage, instruction as Copy, around);
      return;
    case "RUN":
      // With all development packages: this checkout has them, by the same lock file and the same command.
      if (text === "npm ci --ignore-scripts") symlinkSync(join(ROOT, "node_modules"), join(stage.root, stage.workdir, "node_modules"));
      else await run(stage, text);
      return;
    default:
      throw new Error(`not known here: ${instruction.toString()}`);
  }
}

function properties(instruction: Env | Label): Record<string, string> {
  return Object.fromEntries(instruction.getProperties().map((property) => [property.getName(), property.getValue() ?? ""]));
}

function words(instruction: JSONInstruction): string[] {
  return instruction.getJSONStrings().map((word) => word.getJSONValue());
}

/** Folders are copied by what is in them, files by their names, as the engine does. */
function copy(stage: Stage, instruction: Copy, { context, stages }: Surroundings): void {
  const named = instruction.getFromFlag()?.getValue();
  const from = named == null ? undefined : stages.get(named);
  if (named != null && from === undefined) throw new Error(`there is no stage ${named}`);
  const paths = instruction.getArguments().map((argument) => argument.getValue());
  const to = paths.pop() ?? "";
  for (const path of paths) {
    if (from === undefined && !inContext(context, path)) throw new Error(`.dockerignore keeps ${path} out`);
    const source = join(from?.root ?? context, path);
    const folder = join(stage.root, posix.resolve(stage.workdir, to));
    const target = lstatSync(source).isDirectory() || !/(^|\/)\.{0,2}$/.test(to) ? folder : join(folder, basename(path));
    cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  }
}

/** Whether a name at the top of a context is in it: ours name what is let in. */
function inContext(context: string, name: string): boolean {
  if (!readdirSync(context).includes(".dockerignore")) return true;
  const lines = readFileSync(join(context, ".dockerignore"), "utf8").trim().split("\n");
  return lines[0] !== "*" || lines.includes(`!${name}`);
}

async function run({ root, workdir, env }: Stage, command: string): Promise<void> {
  const path = `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`;
  // What steers the npm that runs the tests is not said to the one in the image; what it has fetched may be used again.
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(NODE_(TEST|OPTIONS|ENV|V8)|npm_(lifecycle|package|command)|INIT_CWD)/.test(name),
  );
  const options = {
    cwd: join(root, workdir),
    env: { ...Object.fromEntries(kept), ...env, PATH: path, npm_config_prefer_offline: "true" },
    timeout: RUN_MS,
  };
  try {
    await promisify(execFile)("/bin/sh", ["-c", command], options);
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`RUN ${command}\n${stdout}${stderr}`, { cause: error });
  }
}
