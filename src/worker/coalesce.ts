/** Chunks of one artifact that wait together, as one. */
import { create } from "@bufbuild/protobuf";
import { ArtifactSchema, type StreamResponse, StreamResponseSchema, TaskArtifactUpdateEventSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Entry } from "../core/log-entry.ts";

/** Bytes that one merged event may have, roughly. */
const MAX_BYTES = 256 * 1024;

/** Entries that go out as one event: `last` is acknowledged with it. */
export interface Outgoing {
  readonly event: StreamResponse;
  readonly last: Entry;
}

/** Each event by itself. */
export function oneByOne(entries: readonly Entry[]): Outgoing[] {
  return entries.flatMap((entry) => (entry.kind === "event" ? [{ event: entry.event, last: entry }] : []));
}

/**
 * Runs of appended chunks merged into their first one; everything else by itself, in order. `tried`: where the event ended that was sent last: one
 * that goes out again is the same one, though more has come to follow it.
 */
export function coalesced(entries: readonly Entry[], tried: number | undefined): Outgoing[] {
  const outgoing: Outgoing[] = [];
  let bytes = 0;
  for (const next of oneByOne(entries)) {
    const before = outgoing.at(-1);
    const fits = before !== undefined && before.last.offset !== tried && bytes + next.last.bytes.length <= MAX_BYTES;
    const merged = fits ? merge(before.event, next.event) : undefined;
    bytes = merged === undefined ? next.last.bytes.length : bytes + next.last.bytes.length;
    if (merged === undefined) outgoing.push(next);
    else outgoing[outgoing.length - 1] = { event: merged, last: next.last };
  }
  return outgoing;
}

/** Two chunks as one; undefined where the second is no mere continuation of the first. */
function merge({ payload: one }: StreamResponse, { payload: two }: StreamResponse): StreamResponse | undefined {
  if (one.case !== "artifactUpdate" || two.case !== "artifactUpdate" || !two.value.append) return undefined;
  const [first, further] = [one.value.artifact, two.value.artifact];
  if (first === undefined || further === undefined || first.artifactId !== further.artifactId) return undefined;
  if (one.value.lastChunk || one.value.metadata !== undefined || two.value.metadata !== undefined) return undefined;
  // What a chunk changes of the whole artifact stays with that chunk.
  const changes = further.metadata !== undefined || further.extensions.length > 0;
  if (changes || !same(first.name, further.name) || !same(first.description, further.description)) return undefined;
  const artifact = create(ArtifactSchema, { ...first, parts: [...first.parts, ...further.parts] });
  const value = create(TaskArtifactUpdateEventSchema, { ...one.value, artifact, lastChunk: two.value.lastChunk });
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
}

/** Whether a chunk says of its artifact what was said before, or nothing. */
function same(before: string, now: string): boolean {
  return now === "" || now === before;
}
