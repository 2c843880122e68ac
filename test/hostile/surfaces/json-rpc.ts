/** JSON-RPC: all fields in `params`. */
import assert from "node:assert/strict";
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { Failure } from "../../bindings/callers/caller.ts";
import { HttpClient } from "../../bindings/callers/http.ts";
import { type Answer, type JsonRequest, type JsonSurface, objectText, type Placement } from "../surface.ts";
import { answerOf, rpcFailure } from "./http.ts";

export class JsonRpcSurface implements JsonSurface {
  readonly name = "JSON-RPC";
  readonly binding = "json-rpc";
  readonly http: HttpClient;
  #calls = 0;

  constructor(port: number) {
    this.http = new HttpClient(port);
  }

  placement(): Placement {
    return "body";
  }

  async send({ name }: DescMethod, { body }: JsonRequest, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const id = ++this.#calls;
    const reply = await this.http.fetch({
      method: "POST",
      target: "/jsonrpc",
      headers: Object.entries({ "a2a-version": "1.0", "content-type": "application/json", ...headers }),
      body: `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(name)},"params":${objectText(body)}}`,
    });
    const failureIn = (json: JsonObject): Failure | undefined => {
      assert.equal(json["jsonrpc"], "2.0");
      if (!("error" in json)) {
        assert.equal(json["id"], id);
        return undefined;
      }
      return rpcFailure(json, reply.status);
    };
    return answerOf(reply, failureIn);
  }

  close(): void {
    this.http.close();
  }
}
