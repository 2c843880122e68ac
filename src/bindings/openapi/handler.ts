/** OpenAPI at its path: the document of HTTP+JSON. */
import { readFileSync } from "node:fs";
import { type DescService, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { HttpHandler } from "../http-exchange.ts";
import { oneLine } from "../../rpc/json-output.ts";
import { publish } from "../published.ts";
import { restRoutes } from "../rest/handler.ts";
import { type Comments, commentsOf } from "./comments.ts";
import { openApiDocument } from "./document.ts";

/** What is served besides the card. */
export interface OpenApiOptions {
  readonly tenantRoutes: boolean;
  readonly assumeVersion?: string | undefined;
  readonly maxAgeSeconds: number;
}

const OPENAPI_PATH = "/openapi.json";
/** The schema with its comments, which generated code leaves out. */
const DESCRIPTOR_SET = new URL("../../../gen/a2a.binpb", import.meta.url);

/** Serves the document of a service, made when it is first asked for. */
export function openApiHandler(service: DescService, card: () => AgentCard, options: OpenApiOptions): HttpHandler {
  const { tenantRoutes, assumeVersion, maxAgeSeconds } = options;
  const json = (now: AgentCard): string => {
    const document = openApiDocument({
      service,
      // The prefix is in the server's URL.
      routes: restRoutes(service, { restPrefix: "", tenantRoutes }).all,
      card: now,
      comments: commentsFor(service),
      tenants: tenantRoutes,
      versionRequired: assumeVersion === undefined,
    });
    return oneLine(JSON.stringify(document));
  };
  return publish({ paths: [OPENAPI_PATH], source: card, json, maxAgeSeconds });
}

function commentsFor({ file }: DescService): Comments {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTOR_SET));
  const compiled = set.file.find(({ name }) => name === file.proto.name);
  if (compiled === undefined) throw new Error(`${DESCRIPTOR_SET.pathname} does not hold ${file.proto.name}`);
  return commentsOf(compiled);
}
