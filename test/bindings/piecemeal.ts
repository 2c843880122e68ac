/** A wire that carries one byte at a time, both ways: whatever can be cut on its way is cut everywhere. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** Listens in front of a port of 127.0.0.1. */
export class Piecemeal implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const server = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
      void this.#carry(client, server);
      void this.#carry(server, client);
    });
  }

  static async before(port: number): Promise<Piecemeal> {
    const wire = new Piecemeal(port);
    wire.#server.listen(0, "127.0.0.1");
    await once(wire.#server, "listening");
    return wire;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  async #carry(from: Socket, to: Socket): Promise<void> {
    this.#sockets.add(from);
    try {
      for await (const chunk of from) {
        for (const byte of chunk as Buffer) {
          if (!to.write(Buffer.of(byte))) await once(to, "drain");
          // Written in one turn of the loop, bytes would be read in one.
          await turn();
        }
      }
      to.end();
    } catch {
      to.destroy();
    } finally {
      this.#sockets.delete(from);
    }
  }
}
