/** Python: the official SDK over its three bindings, and grpcio with stubs of our schema. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "../../e2e/server-process.ts";
import type { Command, ForeignKit } from "../foreign-kit.ts";
import { runCommand } from "../run-command.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const REQUIREMENTS = join(HERE, "requirements.txt");
const SCHEMA = join(ROOT, "proto/lf/a2a/v1/a2a.proto");

export const python: ForeignKit = {
  name: "python",
  title: "Python",
  needs: [{ program: "python3", install: "apt-get install python3 python3-venv" }],

  async build(cache) {
    const made = `${digest(REQUIREMENTS)} ${digest(SCHEMA)}`;
    const stamp = join(cache, "made-of");
    if (existsSync(stamp) && readFileSync(stamp, "utf8") === made) return;
    await runCommand("python3", ["-m", "venv", "--clear", join(cache, "env")]);
    const interpreter = interpreterOf(cache);
    await runCommand(interpreter, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]);
    const site = await runCommand(interpreter, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')"]);
    const stubs = join(cache, "stubs");
    mkdirSync(stubs, { recursive: true });
    const out = [`--python_out=${stubs}`, `--grpc_python_out=${stubs}`];
    await runCommand(interpreter, ["-m", "grpc_tools.protoc", `-I${join(ROOT, "proto")}`, `-I${site}`, ...out, SCHEMA]);
    writeFileSync(stamp, made);
  },

  servers: (cache) => [
    { name: "a2a-sdk", version: pinned("a2a-sdk"), command: program(cache, "server.py"), bindings: ["grpc", "rest", "jsonrpc"] },
  ],

  clients: (cache) => [
    { name: "a2a-sdk", version: pinned("a2a-sdk"), command: program(cache, "sdk_client.py"), bindings: ["grpc", "rest", "jsonrpc"] },
    { name: "grpcio", version: pinned("grpcio"), command: program(cache, "grpc_client.py"), bindings: ["grpc"] },
  ],
};

function program(cache: string, file: string): Command {
  return { file: interpreterOf(cache), args: ["-B", join(HERE, file)], env: { PYTHONPATH: join(cache, "stubs") } };
}

function interpreterOf(cache: string): string {
  return join(cache, "env/bin/python");
}

function pinned(name: string): string {
  return new RegExp(`^${name}==(.+)$`, "m").exec(readFileSync(REQUIREMENTS, "utf8"))?.[1] ?? "";
}

function digest(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
