/** An OpenAPI document in the hands of a caller: which operation a request is, and whether a reply is as it was promised. */
import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { HttpClient, HttpReply, HttpRequest } from "../callers/http.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: JsonObject;
}

interface Content {
  readonly [mediaType: string]: { readonly schema: JsonObject };
}

export interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly summary: string;
  readonly parameters: readonly JsonObject[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, JsonObject>>;
}

export interface OpenApi {
  readonly openapi: string;
  readonly info: JsonObject;
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly JsonObject[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<"schemas" | "parameters" | "headers" | "responses" | "securitySchemes", JsonObject>>;
}

/** An operation and where it is. */
export interface Place {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const ROOT = "openapi.json";

export class OpenApiBook {
  readonly document: OpenApi;
  readonly #ajv: InstanceType<typeof Ajv2020>;

  constructor(document: OpenApi) {
    this.document = document;
    this.#ajv = new Ajv2020({ strictTypes: false, strictRequired: false, allErrors: true });
    // A plugin in the old style: what it exports depends on who asks.
    (addFormats as unknown as (ajv: unknown) => void)(this.#ajv);
    this.#ajv.addVocabulary(["openapi", "info", "servers", "security", "tags", "paths", "components"]);
    this.#ajv.addSchema(document, ROOT);
  }

  static async read(http: HttpClient): Promise<OpenApiBook> {
    const { text } = await http.fetch({ method: "GET", target: "/openapi.json" });
    return new OpenApiBook(JSON.parse(text) as OpenApi);
  }

  /** Every operation. */
  get places(): Place[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  /** The operation that a request is, literal paths before those with variables. */
  placeOf({ method, target }: HttpRequest): Place {
    const [path = ""] = target.split("?");
    const fits = this.places.filter((place) => place.method === method && shapeOf(place.path).test(path));
    const variables = (place: Place): number => place.path.split("{").length;
    return (
      fits.toSorted((one, other) => variables(one) - variables(other) || other.path.length - one.path.length)[0] ?? assert.fail(target)
    );
  }

  /** Parameters, references resolved. */
  parametersOf({ parameters }: Operation): Parameter[] {
    return parameters.map((one) => this.#resolved(one) as unknown as Parameter);
  }

  /** Fails unless the reply is one that the operation promises, to the last member of its JSON. */
  check(request: HttpRequest, reply: HttpReply): void {
    const { operation, method, path } = this.placeOf(request);
    const where = `${method} ${path}: ${reply.status}`;
    const response = operation.responses[String(reply.status)] ?? assert.fail(`${where} is not told of`);
    const type = reply.headers.get("content-type")?.split(";")[0] ?? "";
    const { content } = this.#resolved(response) as unknown as { content: Content };
    const schema = content[type]?.schema ?? assert.fail(`${where}: ${type} is not told of`);
    const values = type === "text/event-stream" ? eventsIn(reply.text) : [JSON.parse(reply.text) as JsonValue];
    assert.ok(values.length > 0, where);
    for (const value of values) this.conforms(schema, value, where);
  }

  /** Whether a request's body is as its operation asks. */
  takes(request: HttpRequest): boolean {
    const { operation } = this.placeOf(request);
    const schema = operation.requestBody?.content["application/json"]?.schema ?? assert.fail("it has no body");
    return this.#validator(schema)(JSON.parse(String(request.body)));
  }

  /** Fails unless the value is as the schema says. */
  conforms(schema: JsonObject, value: JsonValue, where: string): void {
    const validate = this.#validator(schema);
    assert.ok(validate(value), `${where}\n${JSON.stringify(value)}\n${this.#ajv.errorsText(validate.errors)}`);
  }

  #validator(schema: JsonObject): ValidateFunction {
    // References are to the document.
    return this.#ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', `"${ROOT}#/`)) as JsonObject);
  }

  #resolved(value: JsonObject): JsonObject {
    const reference = value["$ref"];
    if (typeof reference !== "string") return value;
    const steps = reference.slice(2).split("/");
    return steps.reduce((at, step) => at[step] as JsonObject, this.document as unknown as JsonObject);
  }
}

function shapeOf(path: string): RegExp {
  const source = path.replace(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replace(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${source}$`);
}

/** The data of each event. */
function eventsIn(text: string): JsonValue[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as JsonValue);
}
