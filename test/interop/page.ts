/** docs/interop.md: what works with whom. The same outcome makes the same page. */
import { type Cell, type Column, COLUMNS } from "./columns.ts";
import type { Binding } from "./foreign-kit.ts";
import { SERVER_COLUMNS } from "./their-servers.ts";

/** One row of a table: a program over one binding. */
export interface Row {
  /** `Python: a2a-sdk 1.3.0`. */
  readonly program: string;
  readonly binding: Binding;
  readonly cells: ReadonlyMap<Column, Cell>;
}

/** Both tables. */
export interface Rows {
  readonly servers: readonly Row[];
  readonly clients: readonly Row[];
}

/** What the page is made of. */
interface PageInit extends Rows {
  /** Sentences on languages. */
  readonly about: readonly string[];
}

const BINDING_NAMES: Readonly<Record<Binding, string>> = { grpc: "gRPC", rest: "HTTP+JSON", jsonrpc: "JSON-RPC" };
const SIGNS: Readonly<Record<Cell["outcome"], string>> = { works: "yes", "not offered": "–", fails: "**no**" };

const HEAD = `# Who it works with

The client of this project on servers that are not ours, and clients that are not ours on our server, over each binding that both speak. This
page is written by the run that finds it out:

\`\`\`sh
npm run test:interop
npm run test:interop -- --only python,go
\`\`\`

It needs \`python3\` (with \`venv\`), \`go\`, \`java\` with \`mvn\`, \`cargo\` and \`curl\`, and says how to install what is missing; \`--only\` runs some
languages and leaves the page as it is. What it builds goes to \`$XDG_CACHE_HOME/throughline-interop\` (\`~/.cache\` where that is not set); versions
are pinned in [test/interop](../test/interop). JavaScript and curl are part of \`npm test\`.

All agents do the same by the first word of a text. A column is a trial from the first call to the last:

| column | what must come of it |
| --- | --- |
| send | a send ends with the completed task and its artifact |
| ask | a task that wants input is answered, and completes with the answer |
| fail | a task that fails is told as such, with its message |
| message | a direct message and no task |
| stream | five chunks, once each and in order, then the end |
| resume | the connection is lost after the second of ten chunks; a subscription on a new one ends with the whole text |
| replica | as resume, on Redis, and the new connection is to another replica |
| cancel | a running task is canceled, and says so |
| list | ListTasks of a context finds its task, and no other |
| push | a webhook is registered, read, listed and deleted |
| error | a task that is not there is refused, and the caller is told which error of A2A it is |

Our client makes send and ask in each of its three ways to wait (stream, block, poll), and error with a cancel of a task that is over and a follow of
it besides.

\`yes\`: it works. \`–\`: the other side does not offer it. \`no\`: it fails, and the note says whose fault that is.
`;

/** The page as Markdown. */
export function interopPage({ servers, clients, about }: PageInit): string {
  const server = section("Our client, their servers", SERVER_COLUMNS, servers);
  const client = section("Their clients, our server", COLUMNS, clients);
  const notes = about.length === 0 ? [] : [`${about.map((sentence) => `- ${sentence}`).join("\n")}\n`];
  return [HEAD, ...notes, server, client].join("\n");
}

function section(heading: string, columns: readonly Column[], rows: readonly Row[]): string {
  const notes: string[] = [];
  const sign = ({ outcome, why }: Cell): string => {
    if (why === undefined) return SIGNS[outcome];
    if (!notes.includes(why)) notes.push(why);
    return `${SIGNS[outcome]} (${notes.indexOf(why) + 1})`;
  };
  const lines = rows.map(({ program, binding, cells }) => {
    const signs = columns.map((column) => sign(cells.get(column) ?? { outcome: "not offered" }));
    return line([program, BINDING_NAMES[binding], ...signs]);
  });
  const head = [line(["", "", ...columns]), line(["---", "---", ...columns.map(() => "---")])];
  const list = notes.map((note, index) => `${index + 1}. ${note}`);
  return [`## ${heading}`, "", ...head, ...lines, "", ...list, ...(list.length > 0 ? [""] : [])].join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
