/** Kits that need no environment of their own, as tests. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Cell, Column } from "./columns.ts";
import type { ForeignKit } from "./foreign-kit.ts";
import { type RunningForeign, startForeign } from "./foreign-process.ts";
import { type OurServers, ourServers } from "./our-servers.ts";
import { tryClient } from "./their-clients.ts";
import { tryServer } from "./their-servers.ts";

/** Longer than any of them takes, but not than a test file may. */
const TIMEOUT = 280_000;

/** Our client on the kit's servers. */
export function serverSuites(kit: ForeignKit): void {
  for (const server of kit.servers("")) {
    suite(`our client on the server of ${server.name}`, { concurrency: true, timeout: TIMEOUT }, () => {
      let running: RunningForeign;
      before(async () => (running = await startForeign(server)));
      after(() => running[Symbol.asyncDispose]());
      for (const binding of server.bindings) {
        test(`does all that there is to do over ${binding}`, async () => asKnown(await tryServer(server, binding, running)));
      }
    });
  }
}

/** The kit's clients on our server. */
export function clientSuites(kit: ForeignKit): void {
  for (const client of kit.clients("")) {
    suite(`the client of ${client.name} on our server`, { concurrency: true, timeout: TIMEOUT }, () => {
      let ours: OurServers;
      before(async () => (ours = await ourServers()));
      after(() => ours[Symbol.asyncDispose]());
      for (const binding of client.bindings) {
        test(`does all that there is to do over ${binding}`, async () => asKnown(await tryClient(client, binding, ours)));
      }
    });
  }
}

function asKnown(cells: ReadonlyMap<Column, Cell>): void {
  const wrong = [...cells].filter(([, { surprise }]) => surprise !== undefined);
  assert.deepEqual(
    wrong.map(([column, { surprise }]) => `${column}: ${surprise}`),
    [],
  );
}
