/** The driver for a binding. */
import type { Urls } from "../server-process.ts";
import type { Binding, Driver } from "./driver.ts";
import { grpcDriver } from "./grpc.ts";
import { jsonRpcDriver } from "./json-rpc.ts";
import { restDriver } from "./rest.ts";

const OPEN: Readonly<Record<Binding, (urls: Urls, connections: number) => Driver>> = {
  grpc: ({ grpc }, connections) => grpcDriver(grpc.replace(/^https?:\/\//u, ""), connections),
  rest: ({ rest }) => restDriver(rest),
  jsonrpc: ({ jsonrpc }) => jsonRpcDriver(jsonrpc),
};

/** Opens the client end of `binding`. gRPC spreads its calls over `connections`; HTTP opens as many as there are calls at once. */
export function openDriver(binding: Binding, urls: Urls, connections: number): Driver {
  return OPEN[binding](urls, connections);
}
