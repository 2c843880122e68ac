/** A server behind a proxy for each of its ports, for transports whose connections are to fail. */
import { TcpProxy } from "../../redis/tcp-proxy.ts";
import { type Bed, openBed } from "../bed.ts";
import type { ServeInit } from "../../../src/server/serve.ts";
import type { Ports, Way } from "./ways.ts";

export class ProxiedBed implements AsyncDisposable {
  readonly bed: Bed;
  readonly #proxies: Readonly<Record<keyof Ports, TcpProxy>>;

  private constructor(bed: Bed, proxies: Readonly<Record<keyof Ports, TcpProxy>>) {
    this.bed = bed;
    this.#proxies = proxies;
  }

  static async open(init: Partial<ServeInit> = {}): Promise<ProxiedBed> {
    const bed = await openBed(init);
    const [grpc, http] = [await TcpProxy.open({ port: bed.server.ports.grpc }), await TcpProxy.open({ port: bed.server.ports.http })];
    return new ProxiedBed(bed, { grpc, http });
  }

  /** Where the proxies listen. */
  get ports(): Ports {
    return { grpc: this.#proxies.grpc.port, http: this.#proxies.http.port };
  }

  /** The proxy that a way goes through. */
  proxy({ port }: Way): TcpProxy {
    return this.#proxies[port];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of Object.values(this.#proxies)) await proxy[Symbol.asyncDispose]();
    await this.bed[Symbol.asyncDispose]();
  }
}
