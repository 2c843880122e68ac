/** Snippets as modules in a directory of their own: type-checked, and run. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../e2e/server-process.ts";

/** Where the sources of this package's exports are. */
const MODULES = {
  throughline: "src/index.ts",
  "throughline/client": "src/client/index.ts",
  "throughline/redis": "src/storage/redis/index.ts",
  "throughline/testing": "src/testing/index.ts",
  "throughline/upstream": "src/upstream/index.ts",
};

/** A directory of snippets that import this package by its name; disposing removes it. */
export class Snippets implements Disposable {
  readonly directory: string = mkdtempSync(join(tmpdir(), "throughline-docs-"));
  readonly #files: string[] = [];

  constructor() {
    writeFileSync(join(this.directory, "package.json"), JSON.stringify({ type: "module" }));
  }

  /** Adds a module; answers its path. Its imports lead to the sources. */
  add(name: string, text: string): string {
    const path = join(this.directory, name);
    const source = Object.entries(MODULES).reduce(
      (changed, [specifier, module]) => changed.replaceAll(`from "${specifier}"`, `from ${JSON.stringify(join(ROOT, module))}`),
      text,
    );
    writeFileSync(path, source);
    this.#files.push(path);
    return path;
  }

  /** Rejects with what the compiler says. */
  async check(): Promise<void> {
    const config = join(this.directory, "tsconfig.json");
    const compilerOptions = { typeRoots: [join(ROOT, "node_modules/@types")], rewriteRelativeImportExtensions: false };
    writeFileSync(config, JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions, include: [], files: this.#files }));
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    try {
      await promisify(execFile)(process.execPath, [tsc, "-p", config]);
    } catch (error) {
      throw new Error((error as { stdout: string }).stdout, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
