/** What a caller asks for: in words ("run the tests of payments-api at 1a2b3c4") or as data ({"project", "commit"}). */
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Message } from "../../src/index.ts";
import type { Projects } from "./projects.ts";

/** The run that is asked for, why it is refused, or what has to be known first. */
export type TestRequest =
  | { readonly project: string; readonly directory: string; readonly commit: string | undefined }
  | { readonly refusal: string }
  | { readonly question: string };

interface Named {
  project?: string | undefined;
  commit?: string | undefined;
}

const fillers = new Set(["a", "all", "commit", "my", "our", "project", "ref", "revision", "test", "tests", "the", "your"]);

/** Reads all that was said. Data wins over words. Without a name, the only project that is allowed is meant. */
export function readRequest(messages: readonly Message[], projects: Projects): TestRequest {
  const texts: string[] = [];
  const data: Named = {};
  for (const { content } of messages.flatMap(({ parts }) => parts)) {
    if (content.case === "text") texts.push(content.value);
    if (content.case !== "data") continue;
    const read = readData(toJson(ValueSchema, content.value));
    if (read === undefined) return { refusal: 'the data is {"project": "<name>", "commit": "<commit>"}, both optional strings' };
    Object.assign(data, read);
  }
  const { project, commit } = { ...readWords(texts.join("\n"), projects), ...data };
  const allowed = [...projects.keys()].join(", ") || "none";
  if (commit !== undefined && !isCommitName(commit)) return { refusal: `${JSON.stringify(shorten(commit))} does not name a commit` };
  const name = project ?? (projects.size === 1 ? projects.keys().next().value : undefined);
  if (name === undefined) return { question: `which project? Allowed: ${allowed}` };
  const directory = projects.get(name);
  if (directory === undefined) return { refusal: `the project ${JSON.stringify(shorten(name))} is not allowed. Allowed: ${allowed}` };
  return { project: name, directory, commit };
}

/** Whether git may see it: an abbreviated or full SHA-1, or a ref's name that is neither an option nor an expression. */
export function isCommitName(name: string): boolean {
  if (/^[0-9a-f]{7,40}$/.test(name)) return true;
  return /^[A-Za-z0-9][\w./-]{0,199}$/.test(name) && !/\.\.|\/\/|\/\.|\.lock$|[./]$/.test(name);
}

function readData(value: unknown): Named | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const named: Named = {};
  for (const key of ["project", "commit"] as const) {
    const found = (value as Record<string, unknown>)[key];
    if (found === undefined || found === null || found === "") continue;
    if (typeof found !== "string") return undefined;
    named[key] = found;
  }
  return named;
}

/** An allowed name anywhere in the text, else what follows "of", "for" or "project"; the commit follows "at" or "commit". */
function readWords(text: string, projects: Projects): Named {
  const words = text.split(/[\s"'`,;:!?()]+/).map((word) => word.replace(/\.+$/, ""));
  const after = (...markers: string[]): string | undefined => {
    const marker = words.findLastIndex((word) => markers.includes(word.toLowerCase()));
    return marker < 0 ? undefined : words.slice(marker + 1).find((word) => word !== "" && !fillers.has(word.toLowerCase()));
  };
  const project = words.find((word) => projects.has(word)) ?? after("of", "for", "project");
  const commit = after("at", "commit");
  const named: Named = {};
  // the same word twice is a project if there is one of that name ("look at shop"), else a commit ("of commit 1a2b3c4")
  if (project !== undefined && (project !== commit || projects.has(project))) named.project = project;
  if (commit !== undefined && commit !== named.project) named.commit = commit;
  return named;
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}
