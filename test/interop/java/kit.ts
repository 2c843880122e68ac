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
  about:
    "Java is grpc-java with stubs of the published schema. The releases of the official SDK that speak A2A 1.0 (`org.a2aproject.sdk`) could not be had where this was run; the newest that could, 1.0.0.Alpha3 of `io.github.a2asdk`, speaks a draft: `a2a.v1.A2AService` over gRPC, and no `A2A-Version` over the others.",
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
