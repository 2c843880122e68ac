/** Whether a server process that was just started serves its port. */
import { connect } from "node:net";

const ANSWER_MS = 1000;

/**
 * Whether the process listens on the port and answers PING. The process id is compared, as another server may have
 * taken the port a moment earlier; PING fails while data is loaded.
 */
export async function isReady(port: number, pid: number | undefined, password?: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: "127.0.0.1" });
  let answer = "";
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  socket.on("connect", () => {
    const auth = password === undefined ? "" : command("AUTH", password);
    socket.write(auth + command("PING") + command("INFO", "server") + command("QUIT"));
  });
  socket.on("data", (chunk) => {
    answer += chunk.toString();
  });
  // "close" follows, and tells by the answer.
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(answer.includes("+PONG\r\n") && answer.includes(`\r\nprocess_id:${pid}\r\n`)));
  return promise;
}

function command(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}
