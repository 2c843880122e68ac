/** A process that accepts a task when it is told to: `AGENT DIRECTORY TASK`. Prints the record. */
import { once } from "node:events";
import { A2AClient, AcceptanceBook, FileRecords, judgedBy } from "../../src/client/index.ts";

const [agent = "", directory = "", taskId = ""] = process.argv.slice(2);
await using client = await A2AClient.connect(agent);
const book = new AcceptanceBook({ client, store: new FileRecords(directory), by: `rival ${process.pid}` });
process.stdout.write("ready\n");
await once(process.stdin, "data");
process.stdin.destroy();
process.stdout.write(`${JSON.stringify(await book.accept(taskId, { checks: [judgedBy("ada", "fine")] }))}\n`);
