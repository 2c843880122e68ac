import type { TestContext } from "node:test";
import { Connections } from "../../src/storage/redis/connection/connections.ts";
import type { Reply } from "../../src/storage/redis/connection/reply.ts";
import { SCRIPTS } from "../../src/storage/redis/scripts.ts";

/** What a test does in place of sending a script; `send` sends it. */
export type Around = (send: () => Promise<Reply>, shard: number) => Promise<Reply>;

/** Steps in wherever a store of this process sends the script, until the test is over. */
export function aroundScript(t: TestContext, name: keyof typeof SCRIPTS, around: Around): void {
  const { value: sent } = Object.getOwnPropertyDescriptor(Connections.prototype, "write") as { value: Connections["write"] };
  t.mock.method(Connections.prototype, "write", function step(this: Connections, ...args: Parameters<Connections["write"]>) {
    const send = (): Promise<Reply> => sent.apply(this, args);
    const [shard, script] = args;
    return script === SCRIPTS[name] ? around(send, shard) : send();
  });
}

/** As {@link aroundScript} for a single command. */
export function aroundCommand(t: TestContext, name: string, around: Around): void {
  const { value: sent } = Object.getOwnPropertyDescriptor(Connections.prototype, "call") as { value: Connections["call"] };
  t.mock.method(Connections.prototype, "call", function step(this: Connections, ...args: Parameters<Connections["call"]>) {
    const send = (): Promise<Reply> => sent.apply(this, args);
    const [shard, command] = args;
    return command === name ? around(send, shard) : send();
  });
}
