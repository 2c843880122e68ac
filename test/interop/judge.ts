/** Makes a cell of a trial. */
import type { Binding, Remark } from "./foreign-kit.ts";
import { type Cell, type Column, NotOffered } from "./columns.ts";

/** What is tried. */
export interface Trial {
  readonly column: Column;
  readonly binding: Binding;
  readonly remarks: readonly Remark[];
  /** Resolves where it works. Throws {@link NotOffered}, or what went wrong. */
  readonly run: () => Promise<void>;
}

/** Runs a trial and holds it against what is known: a remark that no longer holds is as surprising as a failure without one. */
export async function judge({ column, binding, remarks, run }: Trial): Promise<Cell> {
  const remark = remarks.find(({ columns, bindings }) => columns.includes(column) && (bindings?.includes(binding) ?? true));
  try {
    await run();
  } catch (error) {
    if (remark !== undefined) return { outcome: remark.outcome, why: remark.why };
    if (error instanceof NotOffered) return { outcome: "not offered", why: error.message };
    return { outcome: "fails", why: "not looked into yet", surprise: textOf(error) };
  }
  if (remark === undefined) return { outcome: "works" };
  return { outcome: "works", surprise: `it works, and is said not to: ${remark.why}` };
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${textOf(error.cause)}`;
}
