/** What makes our copy of an artifact the upstream's. */
import { equals, toJsonString } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Part, PartSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { samePart, withContent } from "./said.ts";

/** What counts of an artifact event. */
export interface Chunk {
  readonly artifact: Artifact;
  readonly append: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Task["metadata"];
}

/** The further parts of their artifact, or all of it where ours is no beginning of it; undefined where nothing is missing. */
export function missingOf(told: Artifact, ours: Artifact | undefined): Chunk | undefined {
  const theirs = { ...told, parts: [...withContent(told.parts)] };
  const whole = { artifact: theirs, append: false };
  if (ours === undefined) return whole;
  const rest = restOf(theirs.parts, ours.parts);
  // An appended chunk cannot take away what an artifact says of itself.
  if (rest === undefined || isBarer(theirs, ours)) return whole;
  if (rest.length > 0) return { artifact: { ...theirs, parts: rest }, append: true };
  return equals(ArtifactSchema, { ...ours, parts: [] }, { ...theirs, parts: [] }) ? undefined : whole;
}

/** The parts after those that we have; undefined where ours are not their beginning. */
function restOf(theirs: readonly Part[], ours: readonly Part[]): Part[] | undefined {
  if (ours.every((part, index) => samePart(part, theirs[index]))) return theirs.slice(ours.length);
  // An agent may keep as one text what it sent piece by piece.
  const [all, had] = [oneText(theirs), oneText(ours)];
  if (all === undefined || had === undefined || !all.text.startsWith(had.text) || all.like !== had.like) return undefined;
  const text = all.text.slice(had.text.length);
  return text === "" ? [] : [{ ...(theirs[0] as Part), content: { case: "text", value: text } }];
}

/** Parts of text that differ in nothing else, as one. */
function oneText(parts: readonly Part[]): { readonly text: string; readonly like: string } | undefined {
  const texts = parts.map(({ content }) => (content.case === "text" ? content.value : undefined));
  if (texts.includes(undefined)) return undefined;
  const likes = new Set(parts.map((part) => toJsonString(PartSchema, { ...part, content: { case: "text", value: "" } })));
  const [like] = likes;
  return likes.size !== 1 || like === undefined ? undefined : { text: texts.join(""), like };
}

function isBarer(theirs: Artifact, ours: Artifact): boolean {
  return (
    (theirs.name === "" && ours.name !== "") ||
    (theirs.description === "" && ours.description !== "") ||
    (theirs.metadata === undefined && ours.metadata !== undefined) ||
    (theirs.extensions.length === 0 && ours.extensions.length > 0)
  );
}
