/** Java: plain grpc-java with stubs that are generated from the published schema. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command, ForeignKit } from "../foreign-kit.ts";
import { runCommand } from "../run-command.ts";

const HERE = import.meta.dirname;
const version = /<grpc.version>(.*)<\/grpc.version>/.exec(readFileSync(join(HERE, "pom.xml"), "utf8"))?.[1] ?? "";
const grpc = { name: "grpc-java", version, bindings: ["grpc"] } as const;

export const java: ForeignKit = {
  name: "java",
  title: "Java",
  needs: [
    { program: "java", install: "apt-get install openjdk-17-jdk-headless" },
    { program: "mvn", install: "apt-get install maven" },
  ],
  build: async (cache) => {
    await runCommand("mvn", ["--batch-mode", "--quiet", "process-classes", `-Doutput=${cache}`], { cwd: HERE });
  },
  servers: (cache) => [{ ...grpc, command: program(cache, "interop.server.Server") }],
  clients: (cache) => [{ ...grpc, command: program(cache, "interop.client.Client") }],
};

function program(cache: string, main: string): Command {
  return { file: "java", args: ["-cp", `${join(cache, "classes")}:${join(cache, "libraries", "*")}`, main] };
}
