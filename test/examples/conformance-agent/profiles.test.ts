/** The profiles' cards, and what each capability that is off or required refuses. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type Profile, PROFILES, REQUIRED_EXTENSION } from "../../../examples/conformance-agent/profiles.ts";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { fetchCard, serveProfile, triggered } from "./suite/bed.ts";
import type { SuiteClient } from "./suite/client.ts";
import { errorOf, framesOf, outline, taskIn } from "./suite/read.ts";

/** streaming, pushNotifications, extendedAgentCard. */
const CAPABILITIES: Readonly<Record<Profile, readonly [boolean, boolean, boolean]>> = {
  full: [true, true, true],
  minimal: [false, false, false],
  extreq: [true, true, true],
  dummy: [true, false, false],
  bench: [true, false, false],
  itk: [true, true, false],
};

const KEYS = ["name", "description", "version", "capabilities", "skills", "supportedInterfaces", "defaultInputModes", "defaultOutputModes"];

/** The code of an error over each transport. */
interface Codes {
  readonly grpc: number;
  readonly http_json: number;
  readonly jsonrpc: number;
}

const refused = (jsonrpc: number): Codes => ({ grpc: 9, http_json: 400, jsonrpc });

/** Checks that each call of each client is refused for this reason, with its transport's code. */
async function checkRefused(
  clients: readonly SuiteClient[],
  reason: string,
  codes: Codes,
  ...calls: readonly ((client: SuiteClient) => Promise<unknown> | AsyncGenerator)[]
): Promise<void> {
  for (const client of clients) {
    for (const call of calls) {
      const error = await errorOf(call(client));
      assert.deepEqual([error.reason, error.code], [reason, codes[client.transport]]);
    }
  }
}

suite("the card of each profile", () => {
  for (const profile of Object.keys(PROFILES) as Profile[]) {
    test(`R-311 R-313 R-314 R-326 R-327 C-48 ${profile}: whole and valid, with its capabilities and the ports that are served`, async () => {
      await using bed = await serveProfile(profile);
      // Strict: no member that the schema has not.
      const card = fromJson(AgentCardSchema, bed.card);
      for (const key of KEYS) assert.ok(key in bed.card, key);
      const { streaming, pushNotifications, extendedAgentCard } = card.capabilities ?? {};
      assert.deepEqual([streaming, pushNotifications, extendedAgentCard], CAPABILITIES[profile]);
      assert.notEqual(card.skills.length, 0);
      for (const { id, name, description, tags } of card.skills) assert.ok(id && name && description && tags.length > 0);
      const interfaces = card.supportedInterfaces.map(({ protocolBinding, protocolVersion, url }) => {
        assert.equal(protocolVersion, "1.0");
        return `${protocolBinding} ${url.replace(/\d+(?=\/|$)/, "PORT").replace("127.0.0.1", "HOST")}`;
      });
      assert.deepEqual(interfaces, ["GRPC HOST:PORT", "HTTP+JSON http://HOST:PORT", "JSONRPC http://HOST:PORT/jsonrpc"]);
      const { headers } = await fetchCard(Number(new URL(card.supportedInterfaces[1]?.url ?? "").port));
      assert.match(headers.get("cache-control") ?? "", /max-age=\d+/);
      assert.match(headers.get("etag") ?? "", /^"/);
      assert.ok(Date.parse(headers.get("last-modified") ?? "") > 0);
    });
  }

  test("R-214 only extreq requires an extension", async () => {
    for (const profile of Object.keys(PROFILES) as Profile[]) {
      await using bed = await serveProfile(profile);
      const extensions = fromJson(AgentCardSchema, bed.card).capabilities?.extensions ?? [];
      const required = extensions.filter((one) => one.required).map(({ uri }) => uri);
      assert.deepEqual(required, profile === "extreq" ? [REQUIRED_EXTENSION] : []);
    }
  });
});

suite("profile minimal", () => {
  test("R-028 R-072 refuses to stream, before it looks for the task", async () => {
    await using bed = await serveProfile("minimal");
    await checkRefused(
      bed.clients,
      "UNSUPPORTED_OPERATION",
      refused(-32004),
      (client) => client.stream(triggered("tck-stream-001", client)),
      (client) => client.subscribe("no-such-task"),
    );
  });

  test("R-093 R-094 has no push configurations, in a send neither", async () => {
    await using bed = await serveProfile("minimal");
    const config = { id: "tck-push-1", url: "https://example.com/tck-push-webhook" };
    await checkRefused(
      bed.clients,
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
      refused(-32003),
      (client) => client.createPush("no-such-task", config),
      (client) => client.getPush("no-such-task", "tck-push-1"),
      (client) => client.listPush("no-such-task"),
      (client) => client.deletePush("no-such-task", "tck-push-1"),
      (client) => client.send(triggered("tck-complete-task", client), { taskPushNotificationConfig: config }),
    );
  });

  test("R-132 has no extended card", async () => {
    await using bed = await serveProfile("minimal");
    await checkRefused(bed.clients, "UNSUPPORTED_OPERATION", refused(-32004), (client) => client.extendedCard());
  });

  test("does the rest", async () => {
    await using bed = await serveProfile("minimal");
    for (const client of bed.clients) assert.equal(taskIn(await client.send(triggered("tck-artifact-text", client))).state, "COMPLETED");
  });
});

suite("profile extreq", () => {
  test("R-214 refuses each call that does not list the extension", async () => {
    await using bed = await serveProfile("extreq");
    await checkRefused(
      bed.clients,
      "EXTENSION_SUPPORT_REQUIRED",
      refused(-32008),
      (client) => client.send(triggered("tck-complete-task", client)),
      (client) => client.stream(triggered("tck-stream-001", client)),
      (client) => client.getTask("no-such-task"),
      (client) => client.extendedCard(),
    );
  });

  test("R-214 is profile full for calls that list it", async () => {
    await using bed = await serveProfile("extreq");
    for (const client of bed.withHeaders({ "a2a-extensions": `urn:other, ${REQUIRED_EXTENSION}` })) {
      assert.equal(taskIn(await client.send(triggered("tck-complete-task", client))).says, "Hello from TCK");
      const frames: JsonObject[] = await framesOf(client.stream(triggered("tck-stream-001", client)));
      assert.equal(outline(frames).at(-1), "status COMPLETED");
    }
  });
});
