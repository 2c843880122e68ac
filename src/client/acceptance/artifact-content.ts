/** An artifact put together for judging: its parts in their order, the files behind them included (CL-25). */
import { createHash } from "node:crypto";
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import canonicalize from "canonicalize";
import type { Artifact, Part } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { FileError, FileFetcher, type FileOptions } from "./fetch-files.ts";
import type { RecordedContent } from "./record.ts";

/** A file that was fetched. */
export interface FetchedFile {
  /** As the part has it. */
  readonly url: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** What is judged. */
export class ArtifactContent {
  readonly artifact: Artifact;
  /** All parts as one: texts, bytes and files as they are, data as a line of canonical JSON (RFC 8785). */
  readonly bytes: Uint8Array;
  readonly files: readonly FetchedFile[];
  /** What of it could not be had; empty where it is complete. */
  readonly missing: readonly string[];

  constructor(artifact: Artifact, bytes: Uint8Array, files: readonly FetchedFile[], missing: readonly string[]) {
    this.artifact = artifact;
    this.bytes = bytes;
    this.files = files;
    this.missing = missing;
  }

  /** The bytes as UTF-8. */
  get text(): string {
    return Buffer.from(this.bytes).toString("utf8");
  }

  get digest(): string {
    return digestOf(this.bytes);
  }

  /** As a record names it. */
  recorded(kept: boolean): RecordedContent {
    const files = this.files.map(({ url, filename, mediaType, bytes }) => ({
      url: bareUrl(url),
      filename,
      mediaType,
      digest: digestOf(bytes),
      bytes: bytes.length,
    }));
    return { digest: this.digest, bytes: this.bytes.length, complete: this.missing.length === 0, kept, files };
  }
}

/** Puts an artifact together. A file that cannot be had whole is left out, and named as missing. Rejects with the signal's reason. */
export async function artifactContent(artifact: Artifact, options: FileOptions, signal: AbortSignal): Promise<ArtifactContent> {
  await using fetcher = new FileFetcher(options);
  const pieces: Uint8Array[] = [];
  const files: FetchedFile[] = [];
  const missing: string[] = [];
  for (const [index, part] of artifact.parts.entries()) {
    const { content, filename, mediaType } = part;
    if (content.case !== "url") {
      const piece = ownBytes(part);
      if (piece === undefined) missing.push(`part ${index + 1}: it has no content`);
      else pieces.push(piece);
      continue;
    }
    const url = content.value;
    try {
      const bytes = await fetcher.fetch(url, signal);
      files.push({ url, filename, mediaType, bytes });
      pieces.push(bytes);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      missing.push(`${filename === "" ? "" : `${filename}, `}${bareUrl(url)}: ${error.message}`);
    }
  }
  return new ArtifactContent(artifact, Buffer.concat(pieces), files, missing);
}

/** An address without what may be secret in it: credentials, and the query, which often is a signature. */
export function bareUrl(address: string): string {
  const url = URL.parse(address);
  if (url === null) return address.replace(/[?#].*$/s, "");
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  return url.href;
}

function ownBytes({ content }: Part): Uint8Array | undefined {
  if (content.case === "text") return Buffer.from(content.value, "utf8");
  if (content.case === "raw") return content.value;
  if (content.case === "data") return Buffer.from(`${canonicalize(toJson(ValueSchema, content.value))}\n`, "utf8");
  return undefined;
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
