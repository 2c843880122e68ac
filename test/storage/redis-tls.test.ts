import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../redis/free-port.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { redisServer } from "../redis/redis-server.ts";
import { openConnections } from "./open-connections.ts";

interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

function makeCertificates(folder: string): Certificates {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "pipe" });
  const [ca, caKey, cert, key, request] = [file("ca.pem"), file("ca.key"), file("cert.pem"), file("cert.key"), file("cert.csr")] as const;
  openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=test CA", "-keyout", caKey, "-out", ca);
  openssl(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=redis",
    "-addext",
    "subjectAltName=IP:127.0.0.1",
    "-keyout",
    key,
    "-out",
    request,
  );
  openssl("x509", "-req", "-days", "1", "-in", request, "-CA", ca, "-CAkey", caKey, "-copy_extensions", "copy", "-out", cert);
  return { ca, cert, key };
}

test("rediss:// speaks TLS, shows a certificate where one is asked for, and trusts only the given authority", async () => {
  const folder = temporaryFolder("tls");
  try {
    const { ca, cert, key } = makeCertificates(folder);
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
