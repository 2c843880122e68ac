/** Chunks of one artifact, as the rows about the Redis store append them. */
import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** An event with this text. The first chunk of a task must not say `append`. */
export function chunk(text: string, append: boolean): StreamResponse {
  const artifact = { artifactId: "bench", parts: [{ content: { case: "text" as const, value: text } }] };
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value: { artifact, append } } });
}
