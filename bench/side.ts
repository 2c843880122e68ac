/** What is measured: a program, and the binding it is spoken to on. */
import type { Binding } from "./drivers/driver.ts";
import { BARE, GO, JS, OURS, OURS_BESIDE, type Program, PYTHON } from "./programs.ts";
import type { Aim, Metric, Store } from "./rows/row.ts";

export const ROLES = ["ours", "baseline"] as const;
export type Role = (typeof ROLES)[number];

export interface Side {
  readonly program: Program;
  readonly binding: Binding;
}

/** What a binding of ours is beside: those programs that speak it too; our own gRPC where none does. */
export function baselinesOf(binding: Binding, others: readonly Program[]): readonly Side[] {
  const same = others.filter(({ speaks }) => speaks.includes(binding));
  if (same.length > 0) return same.map((program) => ({ program, binding }));
  return binding === "grpc" ? [] : [{ program: OURS_BESIDE, binding: "grpc" }];
}

/** Our side. */
export function oursOn(binding: Binding): Side {
  return { program: OURS, binding };
}

/** A side as the outcome calls it. */
export function nameOf({ program, binding }: Side): string {
  return program === OURS_BESIDE ? `our ${binding}` : program.name;
}

/** How far behind Go, which is compiled, ours may be. */
const BEHIND_GO = 3;

/**
 * What a metric is to reach beside this baseline. What it says is about the SDK for JavaScript; a metric that aims at anything there aims at being
 * first beside Python, and at no less than a third beside Go.
 */
export function aimBeside({ program }: Side, { aim: aimOf, floor }: Metric, binding: Binding, store: Store): Aim | undefined {
  const aim = aimOf?.(binding, store);
  if (program === JS || aim?.kind === "at-most") return aim;
  if (program === BARE) return floor === undefined ? undefined : { kind: "ratio-at-least", value: floor };
  if (aim === undefined) return undefined;
  const more = aim.kind === "ratio-at-least";
  if (program === PYTHON) return { kind: aim.kind, value: 1 };
  return program === GO ? { kind: aim.kind, value: more ? 1 / BEHIND_GO : BEHIND_GO } : undefined;
}
