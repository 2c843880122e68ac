import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createFileRegistry, fromBinary, getOption } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";

const root = new URL("../../", import.meta.url);

suite("the descriptor set", () => {
  const bytes = readFileSync(new URL("gen/a2a.binpb", root));
  const set = fromBinary(FileDescriptorSetSchema, bytes);

  test("is what the compiler makes of proto/", () => {
    const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { scripts: Record<string, string> };
    const [, line = ""] = /buf (build .*) -o gen\/a2a\.binpb/.exec(scripts["generate"] ?? "") ?? [];
    const args = [...line.split(" "), "-o", "-#format=binpb"];
    const built = execFileSync(fileURLToPath(new URL("node_modules/.bin/buf", root)), args, { cwd: root, maxBuffer: 16 * 1024 * 1024 });
    assert.ok(built.equals(bytes), "npm run generate");
  });

  test("stands alone: each file comes after the files that it imports", () => {
    const seen = new Set<string>();
    for (const { name, dependency } of set.file) {
      for (const needed of dependency) assert.ok(seen.has(needed), `${name} needs ${needed}`);
      seen.add(name);
    }
  });

  test("holds the service with its HTTP rules and its comments", () => {
    const service = createFileRegistry(set).getService(A2AService.typeName) ?? assert.fail("no service");
    assert.deepEqual(
      service.methods.map((method) => [method.name, getOption(method, http)]),
      A2AService.methods.map((method) => [method.name, getOption(method, http)]),
    );
    const comments = service.file.proto.sourceCodeInfo?.location.filter(({ leadingComments }) => leadingComments !== "") ?? [];
    assert.ok(comments.length > service.methods.length);
  });

  test("knows what errors carry", () => {
    const registry = createFileRegistry(set);
    for (const name of ["ErrorInfo", "BadRequest", "RetryInfo"]) assert.ok(registry.getMessage(`google.rpc.${name}`) !== undefined, name);
  });

  test("is exported by the package, beside the code that reads it", () => {
    const { exports, files } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
      exports: Record<string, unknown>;
      files: string[];
    };
    assert.equal(exports["./a2a.binpb"], "./dist/gen/a2a.binpb");
    assert.ok(files.includes("dist"));
  });
});
