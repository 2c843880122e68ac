/** JSON-RPC's client end: any method by its descriptor. */
import { type DescMethod, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { errorFromJson, tellsError } from "../../rpc/error-json.ts";
import { isJsonObject, unreadable } from "../../rpc/json-reply.ts";
import { transportOver } from "../client-call.ts";
import type { HttpTransportOptions } from "../http-client.ts";
import { type Attempt, type JsonForm, type JsonSource, JsonWire, hasNoFields, readMessage } from "../json-wire.ts";
import { type ClosableTransport, resolveTransportOptions } from "../transport.ts";

/** Posts to the URL as it is given. Connects when the first call is made. Throws a TypeError for a URL that is none of HTTP. */
export function createJsonRpcTransport(options: HttpTransportOptions): ClosableTransport {
  const resolved = resolveTransportOptions(options);
  return transportOver(new JsonWire(new JsonRpcForm(), resolved), resolved);
}

class JsonRpcForm implements JsonForm {
  readonly contentType = "application/json";
  readonly accept = "application/json";
  #calls = 0;

  attempts(method: DescMethod, request: Message): readonly Attempt[] {
    const id = ++this.#calls;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: method.name, params: toJson(method.input, request) });
    return [{ method: "POST", target: "", body, read: (json, from) => readEnvelope(method, id, json, from) }];
  }
}

function readEnvelope({ output }: DescMethod, id: number, json: JsonValue, from: JsonSource): Message {
  if (tellsError(json, from.event)) throw errorFromJson(json, from);
  // Some servers leave out a result that says nothing.
  const { result = hasNoFields(output) ? {} : undefined, id: answered } = isJsonObject(json) ? json : {};
  if (result === undefined) throw unreadable("the reply has neither a result nor an error");
  // Some servers write every id as text.
  if (answered !== id && answered !== String(id)) throw unreadable("the reply is to another request");
  return readMessage(output, result);
}
