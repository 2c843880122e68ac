/** HTTP+JSON, with fields placed as the HTTP rules say. */
import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { HttpClient } from "../../bindings/callers/http.ts";
import { ROUTES } from "../../bindings/callers/rest.ts";
import { type Answer, type JsonRequest, type JsonSurface, objectText, type Placement } from "../surface.ts";
import { answerOf, statusFailure } from "./http.ts";

export class RestSurface implements JsonSurface {
  readonly name = "HTTP+JSON";
  readonly binding = "rest";
  readonly http: HttpClient;

  constructor(port: number) {
    this.http = new HttpClient(port);
  }

  placement({ name }: DescMethod, { jsonName }: DescField): Placement {
    const [verb, path] = routeOf(name);
    if (path.includes(`{${jsonName}}`)) return "path";
    return verb === "POST" ? "body" : "query";
  }

  async send({ name }: DescMethod, { params, body }: JsonRequest, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const [verb, template] = routeOf(name);
    const inPath = new Map(params.filter(([field]) => template.includes(`{${field}}`)));
    const path = template.replace(/\{(\w+)\}/g, (_, field: string) => inPath.get(field) ?? "");
    const query = params.filter(([field]) => !inPath.has(field)).map((pair) => pair.join("="));
    const type = verb === "POST" ? { "content-type": "application/json" } : {};
    const reply = await this.http.fetch({
      method: verb,
      target: `${path}${query.length > 0 ? `?${query.join("&")}` : ""}`,
      headers: Object.entries({ "a2a-version": "1.0", ...type, ...headers }),
      body: verb === "POST" ? objectText(body) : undefined,
    });
    if (reply.status !== 200) return answerOf(reply, () => statusFailure(reply));
    return answerOf(reply, (json) => ("error" in json ? statusFailure(reply) : undefined));
  }

  close(): void {
    this.http.close();
  }
}

function routeOf(method: string): readonly [verb: string, path: string] {
  const route = ROUTES[method];
  if (route === undefined) throw new TypeError(`no route of ${method}`);
  return route;
}
