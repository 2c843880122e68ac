/** `grpcurl`, which knows the schema from the server's reflection only, one operation per run: see ../foreign-kit.ts. */
import { type JsonCaller, Refused, runOperation } from "./json-client.ts";
import { linesOf } from "./lines-of.ts";
import type { Binding } from "../foreign-kit.ts";

const [grpcurl = "", ...asked] = process.argv.slice(2);
const COMMON = ["-plaintext", "-format-error", "-max-time", "60", "-H", "a2a-version: 1.0"];

async function open(_binding: Binding, card: string): Promise<JsonCaller> {
  const { supportedInterfaces } = (await (await fetch(card)).json()) as { supportedInterfaces: { protocolBinding: string; url: string }[] };
  const target = supportedInterfaces.find(({ protocolBinding }) => protocolBinding === "GRPC")?.url ?? "";

  async function* stream<T>(method: string, request: object): AsyncGenerator<T, void> {
    const output = linesOf(grpcurl, [...COMMON, "-d", JSON.stringify(request), target, `lf.a2a.v1.A2AService/${method}`]);
    let text = "";
    try {
      for (;;) {
        const step = await output.next();
        if (step.done === true) {
          if (step.value.code !== 0) throw refusal(step.value.stderr);
          return;
        }
        text += step.value;
        // Messages are pretty-printed, so that the brace of the outermost object stands alone.
        if (step.value !== "}" && step.value !== "{}") continue;
        yield JSON.parse(text) as T;
        text = "";
      }
    } finally {
      await output.return({ code: null, stderr: "" });
    }
  }

  return {
    stream,
    unary: async <T>(method: string, request: object) => {
      for await (const reply of stream<T>(method, request)) return reply;
      throw new Error("grpcurl said nothing");
    },
  };
}

function refusal(stderr: string): Error {
  try {
    const { details = [] } = JSON.parse(stderr.slice(stderr.indexOf("{"))) as { details?: { reason?: string }[] };
    return new Refused(details, stderr);
  } catch {
    return new Error(stderr);
  }
}

await runOperation(open, asked);
