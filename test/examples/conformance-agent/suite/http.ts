/** HTTP as httpx does it: a reply is read as text, a stream line by line, and a line ends where Python says that it does. */
import type { IncomingMessage } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { HttpClient, type HttpReply } from "../../../bindings/callers/http.ts";
import type { SuiteHeaders } from "./client.ts";

/** What ends a line for `str.splitlines`. */
// oxlint-disable-next-line no-control-regex
const LINE_END = /\r\n|[\n\v\f\r\u001c\u001d\u001e\u0085\u2028\u2029]/;

/** A request to an absolute URL of the card. */
export interface SuiteRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: SuiteHeaders;
  readonly body?: string | undefined;
}

/** The connections to the one host that the card names. */
export class SuiteHttp {
  readonly #client: HttpClient;

  constructor(baseUrl: string) {
    this.#client = new HttpClient(Number(new URL(baseUrl).port));
  }

  fetch(request: SuiteRequest): Promise<HttpReply> {
    return this.#client.fetch(toHttp(request));
  }

  /** The JSON of every `data:` line, each line a whole text; or of the one reply that is no event stream, given to `refused`. */
  async *events(request: SuiteRequest, refused: (reply: HttpReply) => never): AsyncGenerator<JsonObject> {
    const response = await this.#client.open(toHttp(request));
    try {
      if (response.headers["content-type"]?.startsWith("text/event-stream") !== true) {
        let text = "";
        for await (const chunk of response.setEncoding("utf8")) text += chunk as string;
        refused({ status: response.statusCode ?? 0, headers: new Map(), text });
      }
      for await (const line of lines(response)) if (line.startsWith("data:")) yield JSON.parse(line.slice("data:".length)) as JsonObject;
    } finally {
      response.destroy();
    }
  }

  close(): void {
    this.#client.close();
  }
}

async function* lines(response: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of response.setEncoding("utf8")) {
    const found = (rest + (chunk as string)).split(LINE_END);
    rest = found.pop() ?? "";
    yield* found;
  }
  if (rest !== "") yield rest;
}

function toHttp({ method, url, headers, body }: SuiteRequest): Parameters<HttpClient["fetch"]>[0] {
  const { pathname, search } = new URL(url);
  const given = Object.entries({ accept: "*/*", ...headers }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { method, target: `${pathname}${search}`, headers: given, body };
}
