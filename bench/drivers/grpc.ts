/** gRPC. */
import type { Driver } from "./driver.ts";
import { enclose, enveloped } from "./envelopes.ts";
import { http2Connections } from "./http2.ts";
import { protobufDriver, type Wire } from "./protobuf.ts";

const WIRE: Wire = {
  headers: { "content-type": "application/grpc", te: "trailers" },
  enclose,
  answer: enveloped({
    contentType: "application/grpc",
    lastFlag: 0,
    verdict: (_, { "grpc-status": code, "grpc-message": message }) =>
      code === "0" ? undefined : `grpc-status ${String(code)} ${String(message ?? "")}`,
  }),
};

/** A driver that spreads its calls to `host:port` over `connections` connections. */
export function grpcDriver(address: string, connections: number): Driver {
  return protobufDriver(http2Connections(`http://${address}`, connections), WIRE, WIRE);
}
