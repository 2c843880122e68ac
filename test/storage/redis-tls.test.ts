import assert from "node:assert/strict";
import { test } from "node:test";
import { makeCertificates } from "../certificates.ts";
import { freePort } from "../redis/free-port.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { redisServer } from "../redis/redis-server.ts";
import { openConnections } from "./open-connections.ts";

test("rediss:// speaks TLS, shows a certificate where one is asked for, and trusts only the given authority", async () => {
  const folder = temporaryFolder("tls");
  try {
    const { ca, cert, key } = makeCertificates(folder, "IP:127.0.0.1");
    const tlsPort = await freePort();
    await using _server = await redisServer({
      args: [
        "--tls-port",
        `${tlsPort}`,
        "--tls-cert-file",
        cert,
        "--tls-key-file",
        key,
        "--tls-ca-cert-file",
        ca,
        "--tls-auth-clients",
        "yes",
      ],
    });
    const url = `rediss://127.0.0.1:${tlsPort}`;
    const files = { tlsCa: ca, tlsCert: cert, tlsKey: key };
    await using opened = await openConnections(url, files);
    assert.deepEqual(await opened.connections.call(0, "ECHO", "safe"), Buffer.from("safe"));
    await opened.connections.subscribe(0, "{throughline:0}:c");
    await assert.rejects(openConnections(url), /redis\.url: TLS with 127\.0\.0\.1:\d+ failed/);
    await assert.rejects(openConnections(url, { tlsCa: ca }), /redis\.url: .*127\.0\.0\.1/);
    await assert.rejects(openConnections(url.replace("rediss", "redis")), /redis\.url: /);
  } finally {
    removeFolder(folder);
  }
});
