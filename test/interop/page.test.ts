/** The page of the interop run, and how outcomes are judged. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type Cell, type Column, COLUMNS, NotOffered } from "./columns.ts";
import type { ForeignKit, Remark } from "./foreign-kit.ts";
import { judge } from "./judge.ts";
import { interopPage, type Row } from "./page.ts";
import { missingTools, surprises } from "./run.ts";

function row(program: string, ...other: readonly (readonly [Column, Cell])[]): Row {
  const works = COLUMNS.map((column) => [column, { outcome: "works" }] as const);
  return { program, binding: "rest", cells: new Map<Column, Cell>([...works, ...other]) };
}

suite("the page", () => {
  const lists = { outcome: "not offered", why: "it has no lists" } as const;

  test("shows a row for each program and binding, and a note once", () => {
    const fails = { outcome: "fails", why: "its fault" } as const;
    const clients = [row("Tcl: a 1", ["list", lists], ["push", fails]), row("Tcl: b 2", ["list", lists])];
    const page = interopPage({ servers: [row("Tcl: c 3")], clients, about: ["Tcl has no SDK."] });
    assert.match(page, /^\| Tcl: c 3 \| HTTP\+JSON \|( yes \|){10}$/m);
    assert.match(page, /^\| Tcl: a 1 \| HTTP\+JSON \|( yes \|){8} – \(1\) \| \*\*no\*\* \(2\) \| yes \|$/m);
    assert.match(page, /^\| Tcl: b 2 \| HTTP\+JSON \|( yes \|){8} – \(1\) \| yes \| yes \|$/m);
    assert.match(page, /\n\n1\. it has no lists\n2\. its fault\n$/);
    assert.match(page, /^- Tcl has no SDK\.$/m);
  });
});

suite("a trial", () => {
  const remark: Remark = { columns: ["list"], bindings: ["rest"], outcome: "fails", why: "its fault" };
  const fail = (): Promise<void> => Promise.reject(new Error("bad"));
  const work = (): Promise<void> => Promise.resolve();
  const over = (run: () => Promise<void>, binding: "rest" | "grpc" = "rest", column: Column = "list"): Promise<Cell> =>
    judge({ column, binding, remarks: [remark], run });

  test("that fails as is known is no surprise, and any other failure is", async () => {
    assert.deepEqual(await over(fail), { outcome: "fails", why: "its fault" });
    for (const cell of [await over(fail, "grpc"), await over(fail, "rest", "push")]) {
      assert.deepEqual([cell.outcome, cell.surprise], ["fails", "bad"]);
    }
  });

  test("that works is a surprise where it is said not to", async () => {
    assert.deepEqual(await over(work, "grpc"), { outcome: "works" });
    const cell = await over(work);
    assert.deepEqual([cell.outcome, cell.surprise], ["works", "it works, and is said not to: its fault"]);
    assert.deepEqual(surprises({ servers: [], clients: [row("x", ["list", cell])] }), [`client x rest list: ${cell.surprise}`]);
  });

  test("of what the other side has not is no failure", async () => {
    const cell = await over(() => Promise.reject(new NotOffered("no such call")), "grpc");
    assert.deepEqual(cell, { outcome: "not offered", why: "no such call" });
  });
});

test("a kit says which program it lacks, and how that is installed", () => {
  const needs = [
    { program: "node", install: "no need" },
    { program: "no-such-program", install: "get-it no-such-program" },
  ];
  const kit: ForeignKit = {
    name: "x",
    title: "X",
    needs,
    build: () => Promise.resolve(),
    servers: () => [],
    clients: () => [],
  };
  assert.deepEqual(missingTools([kit]), ["X needs no-such-program: get-it no-such-program"]);
});
