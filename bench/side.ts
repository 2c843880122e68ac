/** What is measured: a program, and the binding it is spoken to on. */
import type { Binding } from "./drivers/driver.ts";
import { JS, OURS, OURS_BESIDE, type Program } from "./programs.ts";
import type { Aim } from "./rows/row.ts";

export const ROLES = ["ours", "baseline"] as const;
export type Role = (typeof ROLES)[number];

export interface Side {
  readonly program: Program;
  readonly binding: Binding;
}

/** Both sides for a binding of ours: the other program where it speaks that binding, else our own gRPC. */
export function sidesOf(binding: Binding, other: Program): Readonly<Record<Role, Side>> {
  const baseline: Side = other.speaks.includes(binding) ? { program: other, binding } : { program: OURS_BESIDE, binding: "grpc" };
  return { ours: { program: OURS, binding }, baseline };
}

/** A side as the outcome calls it. */
export function nameOf({ program, binding }: Side): string {
  return program === OURS_BESIDE ? `our ${binding}` : program.name;
}

/** The aim that stands beside this baseline: those that compare are about the SDK. */
export function aimBeside({ program }: Side, aim: Aim | undefined): Aim | undefined {
  return program === JS || aim?.kind === "at-most" ? aim : undefined;
}
