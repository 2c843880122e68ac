/** The commands that call an agent, judge what it has brought, or complete a line: all but `serve`. */
import type { Command } from "commander";
import { acceptCommand } from "./accept.ts";
import { cancelCommand } from "./cancel.ts";
import { cardCommand } from "./card.ts";
import { completionCommand } from "./completion.ts";
import { followCommand } from "./follow.ts";
import { getCommand } from "./get.ts";
import { holdCommand } from "./hold.ts";
import { listCommand } from "./list.ts";
import { pushCommand } from "./push.ts";
import { recordsCommand } from "./records.ts";
import { rejectCommand } from "./reject.ts";
import { sendCommand } from "./send.ts";

/** Adds them to `program`, in the order of its help. */
export function addCallingCommands(program: Command): void {
  program
    .addCommand(cardCommand())
    .addCommand(sendCommand())
    .addCommand(followCommand())
    .addCommand(getCommand())
    .addCommand(listCommand())
    .addCommand(cancelCommand())
    .addCommand(pushCommand())
    .addCommand(acceptCommand())
    .addCommand(holdCommand())
    .addCommand(rejectCommand())
    .addCommand(recordsCommand())
    .addCommand(completionCommand(program));
}
