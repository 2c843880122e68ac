/** Options from a file, the environment and flags. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { knownOptions, readOptions } from "../../src/cli/read-options.ts";
import { serveCommand } from "../../src/cli/serve.ts";
import { strayVariables } from "../../src/cli/stray-variables.ts";
import { OptionsError, optionsSchema } from "../../src/server/options.ts";
import { QUICK, startServer } from "./server-process.ts";

type Given = Readonly<Record<string, string>>;

/** The message of the error that these options lead to. */
async function errorOf(flags: Given, environment: Given = {}, file?: string): Promise<string> {
  const error: unknown = await readOptions(flags, environment, file).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof OptionsError, "these options are taken");
  return error.message;
}

suite("options", () => {
  const directory = mkdtempSync(join(tmpdir(), "throughline-options-"));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const file = (content: unknown): string => {
    const path = join(directory, `${crypto.randomUUID()}.json`);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };

  test("have a flag and a variable each, and a description", () => {
    const known = knownOptions();
    assert.deepEqual(new Set(known.map(({ path }) => path[0])), new Set(Object.keys(optionsSchema.shape)));
    for (const { flag, variable, description } of known) {
      assert.match(flag, /^[a-z]+(-[a-z]+)*$/);
      assert.match(variable, /^THROUGHLINE_[A-Z]+(_[A-Z]+)*$/);
      assert.match(description, /\.$/, flag);
    }
  });

  test("of flags win over those of the environment, which win over those of the file", async () => {
    const config = file({ httpPort: 1, grpcPort: 1, opsPort: 1, dedupe: { mode: "running", windowMs: 1 } });
    const environment = { THROUGHLINE_HTTP_PORT: "2", THROUGHLINE_GRPC_PORT: "2", THROUGHLINE_DEDUPE_MODE: "off" };
    const { httpPort, grpcPort, opsPort, dedupe, drainMs } = await readOptions({ "http-port": "3" }, environment, config);
    assert.deepEqual([httpPort, grpcPort, opsPort], [3, 2, 1]);
    assert.deepEqual(dedupe, { mode: "off", windowMs: 1 });
    assert.equal(drainMs, 20_000);
  });

  test("of the environment that are set to nothing are not set", async () => {
    const { httpPort } = await readOptions({}, { THROUGHLINE_HTTP_PORT: "", THROUGHLINE_TENANTS: "" }, file({ httpPort: 1 }));
    assert.equal(httpPort, 1);
  });

  test("are told from variables that are none and do nothing, but for those of callers and of Kubernetes", () => {
    const known = { ...QUICK, THROUGHLINE_LOG: "info", THROUGHLINE_UPSTREAM_WAIT_MS: "1", THROUGHLINE_AGENT: "http://a", PATH: "/bin" };
    const links = {
      THROUGHLINE_PORT: "tcp://10.0.0.1:50051",
      THROUGHLINE_SERVICE_PORT_GRPC: "50051",
      THROUGHLINE_PORT_8080_TCP_ADDR: "::1",
    };
    const strays = { THROUGHLINE_HTP_PORT: "1", THROUGHLINE_DRAINMS: "1" };
    assert.deepEqual(strayVariables({ ...known, ...links, ...strays }, serveCommand()), Object.keys(strays).toSorted());
  });

  test("of the log and the file are variables too, and a variable that is none is told", async () => {
    const environment = {
      ...QUICK,
      THROUGHLINE_LOG: "warn",
      THROUGHLINE_CONFIG: file({ publicHttpUrl: "https://agent.example" }),
      THROUGHLINE_DRAINMS: "1",
    };
    const server = await startServer(["test/e2e/agents/ticking.ts"], environment);
    try {
      const card = await fetch(`http://127.0.0.1:${server.ports.http}/.well-known/agent-card.json`);
      assert.match(await card.text(), /https:\/\/agent\.example/);
    } finally {
      await server[Symbol.asyncDispose]();
    }
    const lines = server.process.stderr.trim().split("\n");
    const [first, ...more] = lines.map((line) => JSON.parse(line) as { readonly level: number; readonly variables?: unknown });
    assert.deepEqual([first?.level, first?.variables, more], [40, ["THROUGHLINE_DRAINMS"], []]);
  });

  test("are read as what they are: numbers, lists, objects, truth values, words", async () => {
    const environment = { THROUGHLINE_TENANTS: "one,two", THROUGHLINE_TOKENS: '{"s3cret":"alice"}', THROUGHLINE_REPLICA: "7" };
    const options = await readOptions({ "assume-version": "1.0", "dedupe-window-ms": "5" }, environment, undefined);
    assert.deepEqual(options.tenants, ["one", "two"]);
    assert.deepEqual(options.tokens, { s3cret: "alice" });
    assert.deepEqual([options.replica, options.assumeVersion, options.dedupe.windowMs], ["7", "1.0", 5]);
    assert.equal((await readOptions({ tenants: "any" }, {}, undefined)).tenants, "any");
    assert.deepEqual((await readOptions({ tenants: "one" }, {}, undefined)).tenants, ["one"]);
    assert.equal((await readOptions({}, { THROUGHLINE_REFLECTION: "false" }, undefined)).reflection, false);
  });

  test("that are wrong are named, with the flag or the variable that they came by", async () => {
    const wrong: readonly (readonly [Given, Given, RegExp])[] = [
      [{ "http-port": "many" }, {}, /^--http-port \(httpPort: .*expected number/],
      [{ "http-port": "70000" }, {}, /^--http-port \(httpPort: .*65535/],
      [{ "http-port": "-1" }, {}, /^--http-port \(httpPort: /],
      [{ "http-port": "1.5" }, {}, /^--http-port \(httpPort: .*int/],
      [{ host: "h", replica: "" }, {}, /^--replica \(replica: /],
      [{ "dedupe-mode": "sometimes" }, {}, /^--dedupe-mode \(dedupe\.mode: .*"window"\|"running"\|"off"/],
      [{ "drain-ms": "3000000000" }, {}, /^--drain-ms \(drainMs: /],
      [{}, { THROUGHLINE_REFLECTION: "maybe" }, /^THROUGHLINE_REFLECTION \(reflection: .*expected boolean/],
      [{}, { THROUGHLINE_DEDUPE_WINDOW_MS: "soon" }, /^THROUGHLINE_DEDUPE_WINDOW_MS \(dedupe\.windowMs: /],
      [{}, { THROUGHLINE_TENANTS: "one,tasks" }, /^THROUGHLINE_TENANTS \(tenants\.1: a tenant may not be called tasks/],
      [{}, { THROUGHLINE_TENANTS: "one,,two" }, /^THROUGHLINE_TENANTS \(tenants\.1: /],
      [{}, { THROUGHLINE_TOKENS: "alice" }, /^THROUGHLINE_TOKENS \(tokens: /],
      [{}, { THROUGHLINE_TOKENS: '{"s3cret":1}' }, /^THROUGHLINE_TOKENS \(tokens\./],
      [{}, { THROUGHLINE_REST_PREFIX: "api/" }, /^THROUGHLINE_REST_PREFIX \(restPrefix: is empty or like \/api\/v1/],
      [{}, { THROUGHLINE_PUBLIC_HTTP_URL: "here" }, /^THROUGHLINE_PUBLIC_HTTP_URL \(publicHttpUrl: /],
      [{}, { THROUGHLINE_ASSUME_VERSION: "0.3" }, /^THROUGHLINE_ASSUME_VERSION \(assumeVersion: /],
      [{ "redis-shards": "8" }, {}, /^--redis-shards \(redis\.shards: has no effect without redis\.url\)$/],
      [{}, { THROUGHLINE_REDIS_PREFIX: "mine" }, /^THROUGHLINE_REDIS_PREFIX \(redis\.prefix: has no effect without redis\.url\)$/],
      [{ "redis-url": "redis://h:1", "redis-shards": "0" }, {}, /^--redis-shards \(redis\.shards: /],
    ];
    for (const [flags, environment, expected] of wrong) assert.match(await errorOf(flags, environment), expected);
  });

  test("that are wrong are named all at once", async () => {
    const lines = (await errorOf({ "http-port": "x" }, { THROUGHLINE_OPS_PORT: "y" }, file({ grpcPort: "z", more: 1 }))).split("\n");
    assert.deepEqual(lines.map((line) => line.replace(/ \(.*/, "").replace(directory, "")).toSorted(), [
      lines
        .find((line) => line.includes("grpcPort"))
        ?.replace(/ \(.*/, "")
        .replace(directory, ""),
      lines
        .find((line) => line.includes("more"))
        ?.replace(/ \(.*/, "")
        .replace(directory, ""),
      "--http-port",
      "THROUGHLINE_OPS_PORT",
    ]);
  });

  test("that are wrong are told without what gives access", async () => {
    const messages = [
      await errorOf({ tokens: '{"s3cret":5}' }, {}),
      await errorOf({ tokens: '{"s3cret":{"name":"a","nam":"b"}}' }, {}),
      await errorOf({}, { THROUGHLINE_TOKENS: '{"s3cret' }),
      await errorOf({}, { THROUGHLINE_PUSH_KEYS: "s3cret" }),
      await errorOf({}, {}, file({ tokens: { s3cret: [] } })),
      await errorOf({}, {}, file('{"tokens":{"s3cret":s3cret}}')),
    ];
    for (const message of messages) assert.doesNotMatch(message, /s3cret(?!":"alice")/);
    assert.match(messages[0] ?? "", /^--tokens \(tokens\.…: is a name/);
    assert.match(messages[5] ?? "", /is not JSON: Unexpected token 's'$/);
  });

  test("of a file are judged like the others, and the file is named", async () => {
    for (const [content, expected] of [
      ["{", /is not JSON/],
      ["[]", /does not hold a JSON object/],
      [{ htpPort: 1 }, /options: Unrecognized key: "htpPort"/],
      [{ httpPort: "1" }, /httpPort: .*expected number/],
      [{ dedupe: "off" }, /dedupe: .*expected object/],
    ] as const) {
      const path = file(content);
      const message = await errorOf({}, {}, path);
      assert.ok(message.startsWith("--config") && message.includes(path), message);
      assert.match(message, expected);
    }
    assert.match(await errorOf({ "dedupe-mode": "off" }, {}, file({ dedupe: "off" })), /dedupe: .*expected object/);
    assert.match(await errorOf({}, {}, join(directory, "none.json")), /^--config: cannot read .*none\.json/);
  });
});
