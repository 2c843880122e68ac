/** The agent card at its well-known path. */
import { createHash } from "node:crypto";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { connectError, wireError } from "../rpc/errors.ts";
import { jsonText } from "../rpc/json-output.ts";
import { sendStatus } from "./http.ts";
import { type HttpHandler, sendJson } from "./http-exchange.ts";

const CARD_PATH = "/.well-known/agent-card.json";

/** Serves the card, whatever A2A-Version the request names; answers conditional requests. */
export function cardHandler(card: () => AgentCard, maxAgeSeconds: number): HttpHandler {
  const lastModified = new Date().toUTCString();
  return async (exchange) => {
    const { request, response, path } = exchange;
    if (path !== CARD_PATH) return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      sendStatus(exchange, wireError(connectError("METHOD_NOT_ALLOWED", "the card is read with GET")));
      return true;
    }
    const json = jsonText(AgentCardSchema, card());
    const etag = `"${createHash("sha256").update(json).digest("base64url").slice(0, 22)}"`;
    response.setHeader("cache-control", `public, max-age=${maxAgeSeconds}`);
    response.setHeader("etag", etag);
    response.setHeader("last-modified", lastModified);
    const known = request.headers["if-none-match"]?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag || tag.trim() === "*");
    if (known === true) response.writeHead(304).end();
    else sendJson(exchange, 200, "application/json", json);
    return true;
  };
}
