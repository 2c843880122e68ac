/** The suite that every store passes: one function, run once per adapter. */
import { suite } from "node:test";
import { commandContract } from "./commands.ts";
import { deliveryContract } from "./deliveries.ts";
import { healContract } from "./heals.ts";
import type { OpenStore } from "./lab.ts";
import { leaseContract } from "./leases.ts";
import { listContract } from "./lists.ts";
import { logContract } from "./log.ts";
import { pushContract } from "./push.ts";
import { quotaContract } from "./quotas.ts";
import { repeatContract } from "./repeats.ts";
import { checkpointContract, retentionContract } from "./retention.ts";
import { tailContract } from "./tails.ts";

/**
 * Registers the storage contract with `node:test`, against fresh stores that `open` gives. A store whose clock can be moved offers
 * `advance`; for any other the suite asks for short times and waits.
 */
export function storageContract(name: string, open: OpenStore): void {
  suite(`${name}: log`, () => logContract(open));
  suite(`${name}: leases`, () => leaseContract(open));
  suite(`${name}: commands`, () => commandContract(open));
  suite(`${name}: heals`, () => healContract(open));
  suite(`${name}: lists`, () => listContract(open));
  suite(`${name}: repeated sends`, () => repeatContract(open));
  suite(`${name}: push configs`, () => pushContract(open));
  suite(`${name}: deliveries`, () => deliveryContract(open));
  suite(`${name}: quotas`, () => quotaContract(open));
  suite(`${name}: tails`, () => tailContract(open));
  suite(`${name}: checkpoints`, () => checkpointContract(open));
  suite(`${name}: retention`, () => retentionContract(open));
}
