/** A rollout of the current version over the release before, and back, behind nginx, under streams and calls. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { rollingRestart } from "../rolling/restart.ts";
import { Version } from "./version.ts";

const LOAD = { replicas: 2, streams: 32, turns: 6, tickMs: 200, connections: 1000, serve: { "drain-delay-ms": 500 } } as const;

suite("a rollout under load", { timeout: 280_000, skip: Version.noPrevious() }, () => {
  const current = Version.current();
  let previous: Version;
  before(() => {
    previous = Version.previous();
  });
  after(() => previous[Symbol.dispose]());

  for (const what of ["upgrade", "rollback"] as const) {
    test(`${what}: no task or event is lost, none comes twice, no call fails that is repeated once`, async (t) => {
      const [version, to] = what === "upgrade" ? [previous, current] : [current, previous];
      const { seen, called, ...result } = await rollingRestart({ ...LOAD, version, to }, (step) => t.diagnostic(step));
      assert.deepEqual([result.tasksLost, result.streamsShort, seen.lost, seen.doubled, called.failed], [0, 0, 0, 0, []]);
      assert.ok(seen.away.length > 0 && called.calls > 0);
      t.diagnostic(`${seen.away.length} readers were cut and back after ${Math.round(Math.max(...seen.away))} ms at most`);
      t.diagnostic(`${called.calls} calls, ${called.repeated} of them repeated`);
    });
  }
});
