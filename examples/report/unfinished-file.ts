/** A file that is still being uploaded: who fetches it gets half of it and a broken connection, until it is finished. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A file with an address. */
export interface UnfinishedFile extends AsyncDisposable {
  readonly url: string;
  finish(): void;
}

/** Serves a text on a free port of this machine. */
export async function unfinishedFile(name: string, text: string): Promise<UnfinishedFile> {
  const bytes = Buffer.from(text);
  let finished = false;
  const server = createServer((_, reply) => {
    reply.writeHead(200, { "content-type": "text/markdown", "content-length": bytes.length });
    if (finished) reply.end(bytes);
    else reply.write(bytes.subarray(0, bytes.length / 2), () => reply.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
    finish: () => {
      finished = true;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}
