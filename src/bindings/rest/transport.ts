/** HTTP+JSON's client end: any method by the google.api.http rule of its descriptor. */
import type { DescMethod, DescService, JsonValue, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJson, tellsError } from "../../rpc/error-json.ts";
import { transportOver } from "../client-call.ts";
import type { HttpTransportOptions } from "../http-client.ts";
import { type Attempt, type JsonForm, type JsonSource, JsonWire, readMessage } from "../json-wire.ts";
import { type ClosableTransport, resolveTransportOptions } from "../transport.ts";
import { encodeRequest } from "./request.ts";
import { buildRoutes, type Route, withPostTwins } from "./routes.ts";

/** What the HTTP+JSON transport takes. */
export interface RestTransportOptions extends HttpTransportOptions {
  /**
   * How a stream is asked for first whose rule says GET, SubscribeToTask that is (C-01). Where the server does not know it that way, the
   * other one is tried, once, and kept if it is known. Default POST, which more servers take.
   */
  readonly subscribeVerb?: "POST" | "GET" | undefined;
}

/** Connects when the first call is made. A tenant goes as field, not as path. Throws a TypeError for a URL that is none of HTTP. */
export function createRestTransport(options: RestTransportOptions): ClosableTransport {
  const resolved = resolveTransportOptions(options);
  return transportOver(new JsonWire(new RestForm(options.subscribeVerb ?? "POST"), resolved), resolved);
}

class RestForm implements JsonForm {
  readonly contentType = "application/a2a+json";
  readonly accept = "application/a2a+json, application/json";
  readonly #firstVerb: string;
  /** How the server has shown to know a method. */
  readonly #known = new Map<DescMethod, Route>();

  constructor(firstVerb: string) {
    this.#firstVerb = firstVerb;
  }

  attempts(method: DescMethod, request: Message): readonly Attempt[] {
    const known = this.#known.get(method);
    const routes = known === undefined ? this.#routes(method) : [known];
    return routes.map((route) => {
      const { method: verb, target, body } = encodeRequest(route, request);
      return {
        method: verb,
        target,
        body,
        read: (json, from) => readReply(route, json, from),
        known: () => this.#known.set(method, route),
      };
    });
  }

  #routes(method: DescMethod): readonly Route[] {
    const routes = routesOf(method.parent).get(method);
    if (routes === undefined) throw new ConnectError(`${method.toString()} has no google.api.http rule`, Code.Unimplemented);
    return routes.toSorted(
      (one, other) => Number(other.binding.method === this.#firstVerb) - Number(one.binding.method === this.#firstVerb),
    );
  }
}

function readReply({ method, responseBody }: Route, json: JsonValue, from: JsonSource): Message {
  if (tellsError(json, from.event)) throw errorFromJson(json, from);
  return readMessage(method.output, responseBody === undefined ? json : { [responseBody.jsonName]: json });
}

const routesOfServices = new WeakMap<DescService, ReadonlyMap<DescMethod, readonly Route[]>>();

/** The ways to call each method: the first that is declared, and for a stream that is read with GET the same with POST. */
function routesOf(service: DescService): ReadonlyMap<DescMethod, readonly Route[]> {
  let routes = routesOfServices.get(service);
  if (routes === undefined) {
    const { all } = buildRoutes(service, { bindings: (method, declared) => withPostTwins(method, declared.slice(0, 1)) });
    routes = Map.groupBy(all, ({ method }) => method);
    routesOfServices.set(service, routes);
  }
  return routes;
}
