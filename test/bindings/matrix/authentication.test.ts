/** What every operation makes of an authenticator of the server's own. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type Log, SILENT } from "../../../src/core/telemetry.ts";
import { failureOf, openBed } from "../bed.ts";
import { checkFailure } from "../failures.ts";
import { call, OPERATIONS } from "./operations.ts";

suite("an authenticator", () => {
  test("R-357 is asked once by each call of each binding, with its headers, and waited for", async () => {
    const asked: string[] = [];
    const authenticate = async (headers: Headers): Promise<{ challenge: string; message: string }> => {
      await turn();
      asked.push(headers.get("x-credential") ?? "");
      return { challenge: "Own realm=x", message: "not you" };
    };
    await using bed = await openBed({ authenticate });
    const expected: string[] = [];
    for (const caller of bed.callers) {
      for (const operation of OPERATIONS) {
        const credential = `${caller.binding} ${operation.name}`;
        const options = { headers: { "x-credential": credential } };
        const failure = await failureOf(call(caller, operation, operation.request("x"), options));
        assert.equal(checkFailure(caller, failure, "UNAUTHENTICATED").reason, "UNAUTHENTICATED");
        assert.equal(failure.message, "not you");
        expected.push(credential);
      }
    }
    assert.deepEqual(asked, expected);
  });

  test("R-252 that cannot judge is an internal error of every operation that tells nothing; the server's log tells all", async () => {
    const error = new Error("a secret of the key server");
    const told: unknown[] = [];
    const log: Log = { ...SILENT, error: (facts) => void told.push(facts["error"]) };
    await using bed = await openBed({ log, authenticate: () => Promise.reject(error) });
    const expected: unknown[] = [];
    for (const caller of bed.callers) {
      for (const operation of OPERATIONS) {
        const failure = await failureOf(call(caller, operation, operation.request("x")));
        checkFailure(caller, failure, "INTERNAL");
        assert.ok(!JSON.stringify(failure).includes("secret"));
        expected.push(error);
      }
    }
    assert.deepEqual(told, expected);
  });
});
