/** Local TCP ports for servers that are stopped and started again on the same port. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Drawn by this process: several are drawn before the first of them is listened on. */
const drawn = new Set<number>();

/**
 * A port of 127.0.0.1 on which nobody listens. It lies below the range from which systems draw the ports of outgoing
 * connections: otherwise, while its server is down, such a connection may take it, or a client that tries to reconnect
 * may be connected to itself.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(10_000, 32_000);
    if (drawn.has(port)) continue;
    drawn.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error("No free port between 10000 and 32000");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
