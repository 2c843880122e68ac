/** Receivers that do everything wrong, on one port: what a request gets depends on its path. */
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** What it does with a request, and whether that acknowledges it. */
export const BAD_WAYS = {
  hang: { acknowledges: false, act: () => undefined },
  close: { acknowledges: false, act: (socket: Socket) => void socket.destroy() },
  reset: { acknowledges: false, act: (socket: Socket) => void socket.resetAndDestroy() },
  "half an answer": { acknowledges: false, act: (socket: Socket) => void socket.end("HTTP/1.1 20") },
  garbage: { acknowledges: false, act: (socket: Socket) => void socket.write("\u0000\u0001 what? \r\n\r\n".repeat(100)) },
  "no answer but TLS": { acknowledges: false, act: (socket: Socket) => void socket.write(Buffer.from("16030100000000", "hex")) },
  "another protocol": {
    acknowledges: false,
    act: (socket: Socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"),
  },
  "HTTP 500": { acknowledges: false, act: (socket: Socket) => void socket.write("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n") },
  redirect: {
    acknowledges: false,
    act: (socket: Socket) => void socket.write("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.3/\r\ncontent-length: 0\r\n\r\n"),
  },
  "endless headers": { acknowledges: false, act: (socket: Socket) => endless(socket, "HTTP/1.1 200 OK\r\n", `x: ${"y".repeat(1000)}\r\n`) },
  "endless continues": { acknowledges: false, act: (socket: Socket) => endless(socket, "", "HTTP/1.1 100 Continue\r\n\r\n") },
  "endless hints": { acknowledges: false, act: (socket: Socket) => endless(socket, "", "HTTP/1.1 103 Early Hints\r\n\r\n") },
  "endless body": { acknowledges: true, act: (socket: Socket) => endless(socket, "HTTP/1.1 200 OK\r\n\r\n", "z".repeat(64 * 1024)) },
  "body by drops": { acknowledges: true, act: (socket: Socket) => drops(socket, "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n") },
  "body that never comes": {
    acknowledges: true,
    act: (socket: Socket) => void socket.write("HTTP/1.1 204 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
  },
} as const satisfies Readonly<Record<string, { readonly acknowledges: boolean; readonly act: (socket: Socket) => void }>>;

/** One of them. */
export type BadWay = keyof typeof BAD_WAYS;

/** Writes until the peer has had enough. */
function endless(socket: Socket, head: string, piece: string): void {
  const go = (): void => {
    while (socket.writable && socket.write(piece));
    if (socket.writable) socket.once("drain", go);
  };
  socket.write(head);
  go();
}

function drops(socket: Socket, head: string): void {
  socket.write(head);
  const timer = setInterval(() => (socket.writable ? void socket.write("x") : clearInterval(timer)), 100);
  socket.once("close", () => clearInterval(timer));
}

/** Listens; counts. */
export class BadReceiver implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Requests by their way. */
  readonly requests = new Map<string, number>();
  /** Most connections at once. */
  most = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => this.#take(socket));
  }

  static async open(host = "127.0.0.2"): Promise<BadReceiver> {
    const server = createServer();
    const receiver = new BadReceiver(server);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return receiver;
  }

  url(way: BadWay): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}/${encodeURIComponent(way)}`;
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    this.most = Math.max(this.most, this.#sockets.size);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    // One request on each connection is enough: what it says begins it.
    socket.on("data", (chunk) => {
      const [, path] = /^POST \/(\S*)/.exec(chunk.toString("latin1", 0, 200)) ?? [];
      if (path === undefined) return;
      const way = decodeURIComponent(path) as BadWay;
      this.requests.set(way, (this.requests.get(way) ?? 0) + 1);
      BAD_WAYS[way].act(socket);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
