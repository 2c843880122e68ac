/** A way to a server that can be cut: every connection on it is reset then, and new ones are taken. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The way. */
export interface Cutter extends AsyncDisposable {
  readonly port: number;
  cut(): void;
}

/** Opens one to a port of this machine, on a free port. */
export async function cutter(target: number): Promise<Cutter> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.pipe(other);
      socket
        .on("error", () => undefined)
        .once("close", () => {
          open.delete(socket);
          other.destroy();
        });
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      await once(server.close(), "close");
    },
  };
}
