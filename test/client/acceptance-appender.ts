/** A process that appends records to a directory, and says of each that it is there: `DIRECTORY CONTEXT NAME COUNT`. */
import { FileRecords } from "../../src/client/index.ts";
import { recordOf } from "./acceptance-record.ts";

const [directory = "", contextId = "", name = "", count = ""] = process.argv.slice(2);
const store = new FileRecords(directory);
for (let number = 1; number <= Number(count); number += 1) {
  const record = recordOf({ contextId, taskId: `${name}-${number}` });
  for (let done = false; !done;) done = await store.append(record, (await store.read(contextId)).end);
  process.stdout.write(`${record.taskId}\n`);
}
