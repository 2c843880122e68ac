/** Calls two replicas as a caller behind a load balancer may at worst: what it asks after its send always goes to the one that does not run the turn. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Caller, CallOptions, Reply, Stream } from "./caller.ts";

/** One of two. */
export type Replica = 0 | 1;

/** Every new send goes here. */
const HOME: Replica = 0;

/** What the callers of one pair of replicas know together. */
export class Whereabouts {
  readonly #sent = new Set<string>();
  readonly #runners = new Map<string, Replica>();

  /** A turn of this task began on this replica. */
  began(taskId: string, replica: Replica): void {
    this.#runners.set(taskId, replica);
  }

  /** Where a call goes: a new send to its home; whatever is about a task, or sent again, to the replica that does not run it. */
  of(request: JsonObject): Replica {
    const { messageId, taskId = request["id"] ?? request["taskId"] } = (request["message"] ?? {}) as JsonObject;
    if (typeof taskId === "string" && taskId !== "") return other(this.#runners.get(taskId) ?? HOME);
    if (typeof messageId !== "string" || this.#sent.has(messageId)) return other(HOME);
    this.#sent.add(messageId);
    return HOME;
  }
}

function other(replica: Replica): Replica {
  return replica === 0 ? 1 : 0;
}

/** A caller of both replicas over one binding. */
export class ElsewhereCaller implements Caller {
  readonly binding: Caller["binding"];
  readonly #replicas: readonly [Caller, Caller];
  readonly #whereabouts: Whereabouts;

  constructor(replicas: readonly [Caller, Caller], whereabouts: Whereabouts) {
    this.binding = replicas[0].binding;
    this.#replicas = replicas;
    this.#whereabouts = whereabouts;
  }

  unary(method: string, request: JsonObject = {}, options: CallOptions = {}): Promise<Reply> {
    return this.#replicas[this.#whereabouts.of(request)].unary(method, request, options);
  }

  stream(method: string, request: JsonObject = {}, options: CallOptions = {}): Stream {
    return this.#replicas[this.#whereabouts.of(request)].stream(method, request, options);
  }

  close(): void {
    for (const caller of this.#replicas) caller.close();
  }
}
