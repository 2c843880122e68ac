import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { allowedProjects } from "../../examples/test-runner/projects.ts";
import { isCommitName, readRequest } from "../../examples/test-runner/request.ts";
import { SummaryReader } from "../../examples/test-runner/summary.ts";
import { messageOf } from "./fixture.ts";

const one = new Map([["shop", "/shop"]]);
const two = new Map([...one, ["web.site", "/site"]]);

suite("a request", () => {
  test("is read from words and from data", () => {
    const rows = [
      ["run the tests of shop", "shop", undefined],
      ["Run the tests of `web.site`, please.", "web.site", undefined],
      ["run the tests of shop at 1a2b3c4", "shop", "1a2b3c4"],
      ["run the tests of shop at commit 1a2b3c4.", "shop", "1a2b3c4"],
      ["at release/1.2 run shop", "shop", "release/1.2"],
      ["take a look at shop", "shop", undefined],
      [{ project: "shop", commit: "v1.0" }, "shop", "v1.0"],
      [{ project: "shop", commit: "", more: 1 }, "shop", undefined],
    ] as const;
    for (const [content, project, commit] of rows) {
      assert.deepEqual(readRequest([messageOf(content)], two), { project, directory: two.get(project), commit }, JSON.stringify(content));
    }
  });

  test("without a name means the only project there is", () => {
    for (const text of ["go", "", "run all tests", "run the tests of the project", "run the tests of commit 1a2b3c4"]) {
      const request = readRequest([messageOf(text)], one);
      assert.equal("project" in request && request.project, "shop", text);
    }
  });

  test("without a name is asked about where there are several, and is whole with the answer", () => {
    const first = messageOf("run the tests at 1a2b3c4");
    assert.deepEqual(readRequest([first], two), { question: "which project? Allowed: shop, web.site" });
    assert.deepEqual(readRequest([first, messageOf("shop")], two), { project: "shop", directory: "/shop", commit: "1a2b3c4" });
  });

  test("for another project is refused", () => {
    for (const content of ["run the tests of bank", "project bank", { project: "bank" }, { project: "__proto__" }]) {
      const request = readRequest([messageOf(content)], one);
      assert.match("refusal" in request ? request.refusal : "", /is not allowed\. Allowed: shop/, JSON.stringify(content));
    }
  });

  test("with data of another shape is refused", () => {
    for (const data of [null, 1, ["shop"], { project: 1 }, { commit: {} }]) {
      const request = readRequest([messageOf(data)], one);
      assert.match("refusal" in request ? request.refusal : "", /both optional strings/, JSON.stringify(data));
    }
  });

  test("names a commit by nothing that git would take for more", () => {
    for (const name of ["1a2b3c4", "a".repeat(40), "main", "v1.0.0", "feature/pay-2", "HEAD"]) assert.ok(isCommitName(name), name);
    for (const name of ["", "-h", "--output=x", "a..b", "main~1", "HEAD^{/x}", "HEAD:file", "@{-1}", "a b", "/x", "x/", "x.lock", "ä"]) {
      assert.ok(!isCommitName(name), name);
      if (name !== "") assert.ok("refusal" in readRequest([messageOf({ commit: name })], one), name);
    }
  });
});

suite("the list of projects", () => {
  test("is the example and what the environment adds", () => {
    const projects = allowedProjects({ THROUGHLINE_TEST_RUNNER_PROJECTS: "shop=/srv/shop, web.site=/srv/site=2," });
    assert.deepEqual([...projects.keys()], ["payments-api", "shop", "web.site"]);
    assert.equal(projects.get("web.site"), "/srv/site=2");
  });

  test("is refused where it cannot be read", () => {
    assert.throws(() => allowedProjects({ THROUGHLINE_TEST_RUNNER_PROJECTS: "/srv/shop" }), /expected name=\/path, found "\/srv\/shop"/);
  });
});

const read = (output: string): SummaryReader => {
  const reader = new SummaryReader();
  for (let at = 0; at < output.length; at += 7) reader.write(output.slice(at, at + 7));
  reader.end();
  return reader;
};

suite("a summary", () => {
  const rows: [string, string, [number, number, number, number], string[]][] = [
    [
      "node:test, spec",
      `▶ sums
  ▶ inner
    ✔ adds (1.5ms)
    ✖ carries (0.1ms)
  ✖ inner (2ms)
  ﹣ later (0.1ms) # SKIP
✖ sums (3ms)
✔ alone (1ms)
ℹ tests 4
ℹ suites 2
ℹ pass 2
ℹ fail 1
ℹ cancelled 0
ℹ skipped 1
ℹ todo 0

✖ failing tests:

test at sums.test.js:3:5
✖ carries (0.1ms)`,
      [4, 2, 1, 1],
      ["sums > inner > carries"],
    ],
    [
      "node:test, TAP",
      `TAP version 13
# Subtest: sums
    # Subtest: adds
    ok 1 - adds
      ---
      duration_ms: 1
      type: 'test'
      ...
    not ok 2 - carries
      ---
      type: 'test'
      ...
    ok 3 - later # SKIP
      ---
      type: 'test'
      ...
    1..3
not ok 1 - sums
  ---
  duration_ms: 3
  type: 'suite'
  ...
# Subtest: alone
ok 2 - alone
1..2
# tests 4
# pass 2
# fail 1
# cancelled 0
# skipped 1
# todo 0`,
      [4, 2, 1, 1],
      ["carries"],
    ],
    [
      "jest",
      "  ● sums › carries\n\nTests:       1 failed, 2 skipped, 93 passed, 96 total\nTime:        1.2 s",
      [96, 93, 1, 2],
      ["sums › carries"],
    ],
    [
      "vitest",
      " FAIL  sums.test.ts > sums > carries\n      Tests  1 failed | 95 passed (96)",
      [96, 95, 1, 0],
      ["sums.test.ts > sums > carries"],
    ],
    ["mocha", "  93 passing (9s)\n  1 pending\n  3 failing\n", [97, 93, 3, 1], []],
    [
      "pytest",
      "FAILED tests/test_sums.py::test_carry - assert 1\n\u001b[31m=== 3 failed, 93 passed, 1 skipped in 9.80s ===\u001b[0m",
      [97, 93, 3, 1],
      ["tests/test_sums.py::test_carry"],
    ],
  ];
  for (const [runner, output, [tests, passed, failed, skipped], failures] of rows) {
    test(`is read from ${runner}`, () => {
      const reader = read(output);
      assert.deepEqual(reader.counts, { tests, passed, failed, skipped });
      assert.deepEqual(reader.failures, failures);
    });
  }

  test("tells progress without counting suites as tests", () => {
    for (const [, output] of rows.slice(0, 2)) {
      const { passed, failed, finished } = read(output);
      assert.deepEqual([passed, failed, finished], [2, 1, 2]);
    }
  });

  test("is not there where nothing counts, however long its lines", () => {
    assert.equal(read(`ok\n${"x".repeat(100_000)}\nall good`).counts, undefined);
  });
});
