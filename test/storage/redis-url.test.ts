import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRedisUrl } from "../../src/storage/redis/connection/url.ts";
import { slotOf } from "../../src/storage/redis/connection/slot.ts";
import { StoreSetupError } from "../../src/storage/redis/connection/store-error.ts";

const BARE = { tls: false, username: undefined, password: undefined, master: undefined, db: 0 };

test("every documented form of URL is read", () => {
  assert.deepEqual(parseRedisUrl("redis://cache:6380/3"), { ...BARE, kind: "single", hosts: [{ host: "cache", port: 6380 }], db: 3 });
  assert.deepEqual(parseRedisUrl("rediss://u:p%40ss@cache"), {
    ...BARE,
    kind: "single",
    tls: true,
    username: "u",
    password: "p@ss",
    hosts: [{ host: "cache", port: 6379 }],
  });
  assert.deepEqual(parseRedisUrl("redis://:secret@[::1]:6380/"), {
    ...BARE,
    kind: "single",
    password: "secret",
    hosts: [{ host: "::1", port: 6380 }],
  });
  assert.deepEqual(parseRedisUrl("redis+sentinel://a:1,b/my-master/2"), {
    ...BARE,
    kind: "sentinel",
    hosts: [
      { host: "a", port: 1 },
      { host: "b", port: 26_379 },
    ],
    master: "my-master",
    db: 2,
  });
  assert.deepEqual(parseRedisUrl("rediss+cluster://u:p@a:1,b:2"), {
    ...BARE,
    kind: "cluster",
    tls: true,
    username: "u",
    password: "p",
    hosts: [
      { host: "a", port: 1 },
      { host: "b", port: 2 },
    ],
  });
});

test("a URL that is refused says why and keeps the password to itself", () => {
  const refused = {
    "": /expected redis:/,
    "http://host": /expected redis:/,
    "redis://host?db=1": /expected redis:/,
    "redis://a:1,b:2": /redis\+cluster/,
    "redis://host/x": /database must be a number/,
    "redis://host/1/2": /too many/,
    "redis://host:99999": /host:port/,
    "redis://user@host": /needs a password/,
    "redis://u:50%secret@host": /percent-encoded/,
    "redis+cluster://a:1/2": /no database/,
    "redis+sentinel://a:1": /master's name/,
  };
  for (const [url, reason] of Object.entries(refused)) {
    assert.throws(
      () => parseRedisUrl(url),
      (error) =>
        error instanceof StoreSetupError &&
        error.message.startsWith("redis.url: ") &&
        reason.test(error.message) &&
        !error.message.includes("secret"),
      url,
    );
  }
});

test("the slot of a tag is the one that Redis computes", () => {
  // From the Cluster specification, and from CLUSTER KEYSLOT of Redis 7.0.15.
  assert.equal(slotOf("{123456789}"), 0x31c3);
  assert.equal(slotOf("{foo}"), 12_182);
});
