/** An interface in use: its calls, and a transport that lives as long as they do. */
import { type Client, createClient } from "@connectrpc/connect";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Endpoint } from "./interfaces.ts";
import { streamsOver } from "./streams.ts";
import type { ClosableTransport } from "./open-transport.ts";

/** Where calls go. One that gives way to another interface is retired: what goes over it ends by itself. */
export class Line {
  readonly endpoint: Endpoint;
  readonly calls: Client<typeof A2AService>;
  readonly #transport: ClosableTransport;
  #users = 0;
  #retired = false;

  constructor(endpoint: Endpoint, transport: ClosableTransport) {
    this.endpoint = endpoint;
    this.calls = { ...createClient(A2AService, transport), ...streamsOver(transport) };
    this.#transport = transport;
  }

  /** Keeps the transport open until it is disposed. */
  use(): Disposable {
    this.#users += 1;
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#users -= 1;
        held = false;
        this.#closeUnused();
      },
    };
  }

  /** Closes the transport when its last call has ended. */
  retire(): void {
    this.#retired = true;
    this.#closeUnused();
  }

  /** Closes the transport, whatever is under way. */
  close(): void {
    this.#transport.close();
  }

  #closeUnused(): void {
    if (this.#retired && this.#users === 0) this.close();
  }
}
