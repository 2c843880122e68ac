/** `throughline records`: what was decided, and what stands. */
import { existsSync } from "node:fs";
import { Command } from "commander";
import { type AcceptanceRecord, FileRecords, RecordReader } from "../client/index.ts";
import { commandLine } from "./command-line.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { reportFailure, UsageError } from "./failures.ts";
import { say, write, writeJson } from "./output.ts";
import { recordsOption } from "./records-directory.ts";
import { recordLines, recordText } from "./records-text.ts";

interface Flags {
  readonly context?: string;
  readonly task?: string;
  readonly current?: true;
  readonly content?: true;
  readonly records: string;
  readonly json?: true;
}

const EXAMPLES = `
Examples:
  throughline records                        all decisions, the oldest first
  throughline records --context reports --current    what is accepted there now
  throughline records RECORD                 one with all that is in it; the beginning of its id will do
  throughline records RECORD --content       the artifact itself, where it was accepted with --keep
  throughline records --json | jq -r '.[].decision'`;

/** The command. */
export function recordsCommand(): Command {
  const command = new Command("records")
    .description("Show what was decided about artifacts, and what stands. Asks no agent.")
    .argument("[record]", "a record's id, or the beginning of it")
    .option("--context <id>", "only those of this context")
    .option("--task <id>", "only those of this task")
    .option("--current", "only the accepted ones that stand: one for each piece of work")
    .option("--content", "of one record: the bytes that were judged, where they were kept")
    .addOption(recordsOption())
    .option("--json", "JSON for machines")
    .addHelpText("after", EXAMPLES);
  return command.action(async (id: string | undefined, flags: Flags) => {
    try {
      process.exitCode = await (id === undefined ? list(flags) : show(id, flags));
    } catch (error) {
      process.exitCode = await reportFailure(error, { json: flags.json === true });
    }
  });
}

async function list(flags: Flags): Promise<ExitCode> {
  if (flags.content) throw new UsageError("--content: say of which record");
  const records = await selected(flags);
  if (flags.json) await writeJson(JSON.parse(JSON.stringify(records)));
  else if (records.length === 0) say(existsSync(flags.records) ? "no records" : `no records: there is no ${flags.records}`);
  else await write(recordLines(records));
  return EXIT.done;
}

async function show(id: string, flags: Flags): Promise<ExitCode> {
  const found = (await selected(flags)).filter((record) => record.id.startsWith(id));
  const [record] = found;
  if (record === undefined) throw new UsageError(`record: there is no ${id}: \`${commandLine()} records\` shows those that there are`);
  if (found.length > 1) throw new UsageError(`record: there are ${found.length} whose id begins with ${id}`);
  if (flags.content) {
    const bytes = await readerOf(flags).content(record);
    if (bytes === undefined) throw new Error(`its content was not kept: \`${commandLine()} accept --keep\` keeps it`);
    await write(bytes);
  } else await (flags.json ? writeJson(JSON.parse(JSON.stringify(record))) : write(recordText(record)));
  return EXIT.done;
}

async function selected(flags: Flags): Promise<readonly AcceptanceRecord[]> {
  const filter = {
    ...(flags.context !== undefined && { contextId: flags.context }),
    ...(flags.task !== undefined && { taskId: flags.task }),
  };
  return readerOf(flags).list({ ...filter, ...(flags.current && { current: true }) });
}

function readerOf({ records }: Flags): RecordReader {
  return new RecordReader(new FileRecords(records));
}
