/** The driver for a binding. */
import type { Urls } from "../server-process.ts";
import { connectDriver } from "./connect.ts";
import type { Binding, Driver } from "./driver.ts";
import { grpcDriver } from "./grpc.ts";
import { grpcWebDriver } from "./grpc-web.ts";
import { jsonRpcDriver } from "./json-rpc.ts";
import { restDriver } from "./rest.ts";

const OPEN: Readonly<Record<Binding, (url: string, connections: number) => Driver>> = {
  grpc: grpcDriver,
  connect: connectDriver,
  grpcweb: grpcWebDriver,
  rest: restDriver,
  jsonrpc: jsonRpcDriver,
};

/** Opens the client end of `binding`. Over HTTP/2 calls are spread over `connections`; over HTTP/1.1 there are as many as calls at once. */
export function openDriver(binding: Binding, urls: Urls, connections: number): Driver {
  const url = urls[binding];
  if (url === undefined) throw new Error(`the server does not speak ${binding}`);
  return OPEN[binding](url, connections);
}
