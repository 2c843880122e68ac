/** Runs kits: builds them, then tries their servers with our client and their clients on our server. */
import { findProgram } from "../find-program.ts";
import { cacheOf } from "./cache.ts";
import type { Cell, Column } from "./columns.ts";
import type { ForeignKit, ForeignServer } from "./foreign-kit.ts";
import { startForeign } from "./foreign-process.ts";
import { ourServers } from "./our-servers.ts";
import type { Row, Rows } from "./page.ts";
import { tryClient } from "./their-clients.ts";
import { tryServer } from "./their-servers.ts";

/** A line of progress. */
export type Say = (line: string) => void;

/** What kits need and this machine has not, a line each. */
export function missingTools(kits: readonly ForeignKit[]): string[] {
  return kits.flatMap(({ title, needs }) =>
    needs
      .filter(({ program }) => findProgram(program) === undefined)
      .map(({ program, install }) => `${title} needs ${program}: ${install}`),
  );
}

/** Tries everything. Throws where a kit cannot be built or a server cannot be started. */
export async function runKits(kits: readonly ForeignKit[], say: Say): Promise<Rows> {
  const rows: { servers: Row[]; clients: Row[] } = { servers: [], clients: [] };
  const note = (list: Row[], row: Row): void => {
    list.push(row);
    say(`${row.program} ${row.binding}: ${[...row.cells].map(([column, cell]) => brief(column, cell)).join(", ")}`);
  };
  for (const kit of kits) {
    say(`building ${kit.title}`);
    await kit.build(cacheOf(kit));
  }
  await using ours = await ourServers();
  for (const kit of kits) {
    const cache = cacheOf(kit);
    for (const server of kit.servers(cache)) {
      await using running = await startForeign(server);
      const program = nameOf(kit, server);
      for (const binding of server.bindings) note(rows.servers, { program, binding, cells: await tryServer(server, binding, running) });
    }
    for (const client of kit.clients(cache)) {
      const program = nameOf(kit, client);
      for (const binding of client.bindings) note(rows.clients, { program, binding, cells: await tryClient(client, binding, ours) });
    }
  }
  return rows;
}

/** What was not expected, a line each. */
export function surprises({ servers, clients }: Rows): string[] {
  const told = (side: string, rows: readonly Row[]): string[] =>
    rows.flatMap(({ program, binding, cells }) =>
      [...cells].flatMap(([column, { surprise }]) =>
        surprise === undefined ? [] : [`${side} ${program} ${binding} ${column}: ${surprise}`],
      ),
    );
  return [...told("server", servers), ...told("client", clients)];
}

function brief(column: Column, { outcome, surprise }: Cell): string {
  return `${column} ${outcome}${surprise === undefined ? "" : " (!)"}`;
}

function nameOf({ title }: ForeignKit, { name, version }: Pick<ForeignServer, "name" | "version">): string {
  return `${title}: ${name} ${version}`.trim();
}
