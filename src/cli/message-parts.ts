/** What is sent: words, files, standard input. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import type { MessageInitShape } from "@bufbuild/protobuf";
import mime from "mime";
import type { PartSchema } from "../client/index.ts";
import { UsageError } from "./failures.ts";

type PartInput = MessageInitShape<typeof PartSchema>;

/** Where a message comes from. */
export interface MessageSource {
  /** `-` alone stands for standard input. */
  readonly words: readonly string[];
  readonly files: readonly string[];
}

/**
 * The parts of a message: first the words as one text, or standard input where `-` or nothing else is given; then the files. What is text goes
 * as text, the rest as bytes, files with their name and media type. Throws UsageError where there is nothing to send.
 */
export async function messageParts({ words, files }: MessageSource): Promise<PartInput[]> {
  const parts: PartInput[] = [];
  const piped = words.length === 1 && words[0] === "-";
  if (piped || (words.length === 0 && files.length === 0)) {
    if (process.stdin.isTTY && !piped) throw new UsageError("nothing to send: give a text, --file, or pipe something in");
    const bytes = await buffer(process.stdin);
    if (bytes.length > 0) parts.push(partOf(bytes, {}));
  } else if (words.length > 0) {
    parts.push({ content: { case: "text", value: words.join(" ") } });
  }
  for (const path of files) {
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`--file: cannot read ${path}: ${error.code ?? error.message}`);
    });
    parts.push(partOf(bytes, { filename: basename(path), mediaType: mime.getType(path) ?? undefined }));
  }
  if (parts.length === 0) throw new UsageError("nothing to send: standard input is empty");
  return parts;
}

function partOf(bytes: Buffer, { filename = "", mediaType }: { filename?: string; mediaType?: string | undefined }): PartInput {
  const text = textOf(bytes);
  return text === undefined
    ? { filename, mediaType: mediaType ?? "application/octet-stream", content: { case: "raw", value: new Uint8Array(bytes) } }
    : { filename, mediaType: mediaType ?? (filename === "" ? "" : "text/plain"), content: { case: "text", value: text } };
}

/** UTF-8 without a zero in it is text. */
function textOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
