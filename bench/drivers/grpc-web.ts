/** gRPC-Web in binary, over HTTP/1.1. */
import type { Driver } from "./driver.ts";
import { enclose, enveloped } from "./envelopes.ts";
import { http1Connections } from "./http1.ts";
import { protobufDriver, type Wire } from "./protobuf.ts";

const TYPE = "application/grpc-web+proto";

const WIRE: Wire = {
  headers: { "content-type": TYPE, "x-grpc-web": "1" },
  enclose,
  answer: enveloped({
    contentType: TYPE,
    lastFlag: 0x80,
    verdict: (last) => (/^grpc-status: *0\r?$/imu.test(last) ? undefined : `the call ended with ${last || "no trailers"}`),
  }),
};

/** A driver with as many connections as there are calls at once. */
export function grpcWebDriver(url: string): Driver {
  return protobufDriver(http1Connections(url), WIRE, WIRE);
}
