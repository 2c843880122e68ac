/** Calls over the channel of a forked process: a request is answered by the function of that name at the other end. */
import type { ChildProcess } from "node:child_process";

/** Answers one kind of call. */
export type Handler = (params: never) => unknown;

/** Calls the other end; rejects with its error, or when the channel closes. */
export type Call = <T>(name: string, params?: object) => Promise<T>;

type Packet =
  | { readonly id: number; readonly call: string; readonly params: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };

/** Serves `handlers` to the process at the other end of `port` and answers the way to call it. */
export function link(port: ChildProcess | NodeJS.Process, handlers: Readonly<Record<string, Handler>> = {}): Call {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;

  const send = (packet: Packet): void => {
    if (port.connected) port.send?.(packet);
  };

  const answer = async (id: number, call: string, params: unknown): Promise<void> => {
    try {
      const handler = handlers[call];
      if (handler === undefined) throw new Error(`no handler for ${call}`);
      send({ id, result: await handler(params as never) });
    } catch (error) {
      send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };

  port.on("message", (packet: Packet) => {
    if ("call" in packet) {
      void answer(packet.id, packet.call, packet.params);
      return;
    }
    const call = waiting.get(packet.id);
    waiting.delete(packet.id);
    if ("error" in packet) call?.reject(new Error(packet.error));
    else call?.resolve(packet.result);
  });
  port.on("disconnect", () => {
    for (const call of waiting.values()) call.reject(new Error("the process at the other end has gone"));
    waiting.clear();
  });

  return <T>(name: string, params: object = {}): Promise<T> => {
    if (!port.connected) return Promise.reject(new Error("the process at the other end has gone"));
    const call = Promise.withResolvers<unknown>();
    const id = ++lastId;
    waiting.set(id, call);
    send({ id, call: name, params });
    return call.promise as Promise<T>;
  };
}
