/** Copies of the example project whose test command also writes what it prints into a file. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./server-process.ts";

const EXAMPLE = join(ROOT, "examples", "payments-api");
const OUTPUT = "output.txt";

/** The copies; disposing removes them. */
export class Projects implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "throughline-e2e-"));
  readonly #names: string[] = [];

  /** A copy under a name by which a message can ask for it. */
  add(name: string): void {
    const directory = join(this.#directory, name);
    cpSync(EXAMPLE, directory, { recursive: true });
    const file = join(directory, "package.json");
    const json = JSON.parse(readFileSync(file, "utf8")) as { scripts: { test: string } };
    json.scripts.test += ` 2>&1 | tee ${OUTPUT}`;
    writeFileSync(file, JSON.stringify(json));
    this.#names.push(name);
  }

  /** What the last run of the copy's test command wrote. */
  outputOf(name: string): string {
    return join(this.#directory, name, OUTPUT);
  }

  /** Lets the test-runner run the copies. */
  get env(): Record<string, string> {
    return { THROUGHLINE_TEST_RUNNER_PROJECTS: this.#names.map((name) => `${name}=${join(this.#directory, name)}`).join(",") };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
