/** The bounds of connections on the servers inside of grpc-js. */
import type { Http2Server, ServerHttp2Session, ServerOptions } from "node:http2";
import type { Socket } from "node:net";
import type { Server } from "@grpc/grpc-js";
import type { ConnectionBounds } from "../connection-bounds.ts";
import { guardSession, http2Options } from "../session-guard.ts";

/** What grpc-js keeps to itself; a test holds this against the pinned version. */
interface Internals {
  readonly commonServerOptions?: ServerOptions;
  readonly http2Servers?: ReadonlyMap<Http2Server, unknown>;
}

/** Sets what grpc-js has no option for. To be called before the server is bound. */
export function boundServer(server: Server, bounds: ConnectionBounds): void {
  const { commonServerOptions } = server as unknown as Internals;
  if (commonServerOptions === undefined) throw new TypeError("this version of grpc-js hides the options of its servers");
  const { settings, ...own } = http2Options(bounds);
  Object.assign(commonServerOptions, own, { settings: { ...commonServerOptions.settings, ...settings } });
}

/** Watches all connections. To be called as soon as the server is bound. */
export function guardServer(server: Server, bounds: ConnectionBounds): void {
  const { http2Servers } = server as unknown as Internals;
  if (http2Servers === undefined || http2Servers.size === 0) throw new TypeError("this version of grpc-js hides its servers");
  for (const http2 of http2Servers.keys()) {
    http2.maxConnections = bounds.connections;
    let socket: Socket | undefined;
    const arrived = (arrival: Socket): void => {
      socket = arrival;
    };
    // A session begins in the same step as its connection is handed over, over TLS with the latter of both.
    for (const event of ["connection", "secureConnection"]) http2.prependListener(event, arrived);
    http2.on("session", (session: ServerHttp2Session) => {
      if (socket !== undefined) guardSession(session, socket, bounds);
    });
  }
}
