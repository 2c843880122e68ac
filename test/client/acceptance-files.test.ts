/** CL-25: files behind parts are fetched before anything is judged, within limits; what cannot be had whole holds the acceptance. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type AcceptanceRecord, type FileOptions, judgedBy } from "../../src/client/index.ts";
import { makeCertificates } from "../certificates.ts";
import { removeFolder, temporaryFolder } from "../redis/child-guard.ts";
import { acceptanceBed, brief, CONCLUDED, CUT, file, text } from "./acceptance-bed.ts";

const CONCLUSION = "## Conclusion\nEat them.\n";
const whole: RequestListener = (_, reply) => reply.setHeader("content-type", "text/markdown").end(CONCLUSION);

suite("a file behind a part", { timeout: 120_000 }, () => {
  const bed = acceptanceBed();

  /** The record of a report whose conclusion is at an address. */
  const accept = async (url: string, files: FileOptions = {}): Promise<AcceptanceRecord> => {
    const { id } = await bed().task({ chunks: [...CUT, file(url, "conclusion.md"), text("(end)\n")] });
    return bed()
      .book({ files })
      .accept(id, { checks: [CONCLUDED], owner: "grace" });
  };

  /** Why the acceptance was held; the gap says it, and so does the reason. */
  const gap = async (url: string, files?: FileOptions): Promise<string> => {
    const record = await accept(url, files);
    const [only, ...more] = record.gaps;
    assert.ok(only !== undefined && more.length === 0);
    assert.equal(brief(record), `held: it is not complete: ${only.what}`);
    assert.deepEqual([only.owner, record.content?.complete, record.checks], ["grace", false, []]);
    return only.what;
  };

  test("CL-25 is fetched and judged in its place, and its digest and address are in the record, without what may be secret", async () => {
    const url = bed().file(whole);
    const { id } = await bed().task({ chunks: [...CUT, file(`${url}?signature=s3cret#part`, "conclusion.md"), text("(end)\n")] });
    const seen: string[] = [];
    const here = bed().book({ keep: true });
    const record = await here.accept(id, {
      checks: [
        {
          criterion: "concluded",
          judge: ({ text: all, files }) => {
            seen.push(...files.map(({ filename, bytes }) => `${filename} ${Buffer.from(bytes).toString()}`));
            return all.endsWith(`Red.\n${CONCLUSION}(end)\n`);
          },
        },
      ],
    });
    assert.equal(record.decision, "accepted");
    assert.deepEqual(seen, [`conclusion.md ${CONCLUSION}`]);
    const digest = `sha256:${createHash("sha256").update(CONCLUSION).digest("hex")}`;
    assert.deepEqual(record.content?.files, [{ url, filename: "conclusion.md", mediaType: "", digest, bytes: CONCLUSION.length }]);
    assert.ok(!JSON.stringify(record).includes("s3cret"));
    const kept = Buffer.from((await here.content(record)) ?? []);
    assert.equal(record.content?.digest, `sha256:${createHash("sha256").update(kept).digest("hex")}`);
  });

  test("CL-25 that is missing, or breaks off, holds the acceptance, which is given when it is there", async () => {
    let serve: RequestListener = (_, reply) => reply.writeHead(404).end("no such file");
    const url = bed().file((request, reply) => serve(request, reply));
    const { id } = await bed().task({ chunks: [...CUT, file(url, "conclusion.md")] });
    const here = bed().book();
    const missing = await here.accept(id, { checks: [CONCLUDED] });
    assert.equal(brief(missing), `held: it is not complete: conclusion.md, ${url}: its server answers 404`);
    serve = (_, reply) => {
      reply.writeHead(200, { "content-length": CONCLUSION.length }).write(CONCLUSION.slice(0, 9), () => reply.destroy());
    };
    assert.equal(
      brief(await here.accept(id, { checks: [CONCLUDED] })),
      `held: it is not complete: conclusion.md, ${url}: it broke off after 9 of 24 bytes`,
    );
    serve = whole;
    assert.equal((await here.accept(id, { checks: [CONCLUDED] })).decision, "accepted");
    assert.equal((await here.list()).length, 3);
  });

  test("CL-25 is bounded in size, all files of an artifact together, and in what it unpacks to", async () => {
    const large = bed().file((_, reply) => reply.end("x".repeat(60)));
    assert.match(await gap(large, { maxBytes: 59 }), /: the files are larger than 59 bytes$/);
    const packed = bed().file((_, reply) => reply.setHeader("content-encoding", "gzip").end(gzipSync("x".repeat(100_000))));
    assert.match(await gap(packed, { maxBytes: 99_999 }), /: the files are larger than 99999 bytes$/);
    assert.equal((await accept(packed, { maxBytes: 100_000 })).content?.complete, true);
    const { id } = await bed().task({ chunks: [file(large), file(large, "second")] });
    const record = await bed()
      .book({ files: { maxBytes: 100 } })
      .accept(id, { checks: [judgedBy("ada", "fine")] });
    assert.deepEqual([record.content?.files.length, record.gaps.length], [1, 1]);
  });

  test("CL-25 is bounded in time, from the first byte to the last", async () => {
    const never = bed().file(() => undefined);
    assert.match(await gap(never, { timeoutMs: 50 }), /: not there after 50 ms$/);
    const endless = bed().file((_, reply) => void reply.writeHead(200).write("a"));
    assert.match(await gap(endless, { timeoutMs: 50 }), /: not there after 50 ms$/);
  });

  test("CL-25 is followed through redirects: as many as may be, over the same scheme, where each may be called", async () => {
    const target = bed().file(whole);
    const once_ = bed().file((_, reply) => reply.writeHead(302, { location: new URL(target).pathname }).end());
    const twice = bed().file((_, reply) => reply.writeHead(307, { location: once_ }).end());
    assert.equal((await accept(twice)).content?.complete, true);
    assert.match(await gap(twice, { maxRedirects: 1 }), /: more than 1 redirects$/);
    assert.match(await gap(twice, { allow: ({ href }) => href !== target }), /: its address is not allowed$/);
    const elsewhere = bed().file((_, reply) => reply.writeHead(302, { location: "file:///etc/passwd" }).end());
    assert.match(await gap(elsewhere), /: its address is of the scheme file, which is not followed$/);
    const toTls = bed().file((_, reply) => reply.writeHead(302, { location: "https://127.0.0.1/" }).end());
    assert.match(await gap(toTls), /: a redirect leads from http: to https:$/);
  });

  test("CL-25 gets header fields for its own address only", async () => {
    const asked: string[] = [];
    const target = bed().file((request, reply) => {
      asked.push(`target ${request.headers["authorization"]}`);
      whole(request, reply);
    });
    const from = bed().file((request, reply) => {
      asked.push(`from ${request.headers["authorization"]}`);
      reply.writeHead(302, { location: target }).end();
    });
    const record = await accept(from, { headers: ({ href }) => (href === from ? { authorization: "Bearer s3cret" } : {}) });
    assert.equal(record.content?.complete, true);
    assert.deepEqual(asked, ["from Bearer s3cret", "target undefined"]);
  });

  test("CL-25 is not looked for at an address that is none, that nobody serves, or that holds credentials", async () => {
    assert.match(await gap("conclusion.md"), /^conclusion\.md, conclusion\.md: its address is no URL$/);
    assert.match(await gap("ftp://files.example/x"), /scheme ftp, which is not followed$/);
    assert.match(await gap(bed().file(whole), { schemes: ["https"] }), /scheme http, which is not followed$/);
    const secret = await gap("http://ada:s3cret@127.0.0.1/x");
    assert.equal(secret, "conclusion.md, http://127.0.0.1/x: its address holds credentials, which are not used");
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    await once(server.close(), "close");
    assert.match(await gap(`http://127.0.0.1:${port}/x`), /: it cannot be fetched: .*ECONNREFUSED/);
  });

  test("CL-25 is fetched over TLS, from servers that are trusted", async () => {
    const folder = temporaryFolder("acceptance");
    const { ca, cert, key } = makeCertificates(folder, "DNS:localhost");
    const server = createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, whole);
    await once(server.listen(0, "127.0.0.1"), "listening");
    try {
      const url = `https://localhost:${(server.address() as AddressInfo).port}/conclusion.md`;
      assert.match(await gap(url), /: it cannot be fetched: .*certificate/);
      assert.equal((await accept(url, { ca: readFileSync(ca, "utf8") })).content?.complete, true);
    } finally {
      server.closeAllConnections();
      server.close();
      removeFolder(folder);
    }
  });

  test("CL-25 is given up with the signal", async () => {
    const leave = new AbortController();
    const url = bed().file(() => leave.abort(new Error("enough")));
    const { id } = await bed().task({ chunks: [file(url)] });
    const here = bed().book();
    await assert.rejects(here.accept(id, { checks: [CONCLUDED], signal: leave.signal }), /^Error: enough$/);
    assert.deepEqual(await here.list(), []);
  });
});
