/** One redis-server for all tests of a file: started when it is first asked for, ended with the file. */
import { after } from "node:test";
import { type RedisServer, redisServer } from "./redis-server.ts";

let starting: Promise<RedisServer> | undefined;
let prefixes = 0;

after(async () => {
  await (await starting)?.[Symbol.asyncDispose]();
});

/** The server's address and a prefix that nobody else has: a store of one's own. */
export async function fileRedis(): Promise<{ readonly url: string; readonly prefix: string }> {
  starting ??= redisServer();
  const { url } = await starting;
  prefixes += 1;
  return { url, prefix: `t${prefixes}` };
}
