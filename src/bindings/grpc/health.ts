/** grpc.health.v1, for probes and for clients that watch. It is open to everybody. */
import { create, type DescMethodUnary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { handleUnaryCall, Server, ServerWritableStream } from "@grpc/grpc-js";
import {
  Health as HealthService,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
} from "../../../gen/health/v1/health_pb.ts";
import { connectError } from "../../rpc/errors.ts";
import { asBuffer } from "../envelope.ts";
import { decode, statusOf } from "./call.ts";
import { definitionOf } from "./definition.ts";

/** Time between two looks for a change that nobody tells of, such as a store that is away. */
const POLL_MS = 250;
/** Default of how many may watch at once: a stream costs memory, and nobody has to say who they are. */
const MAX_WATCHERS = 10_000;

/** Whether a service is well, by its name; the empty name stands for the server. */
export type HealthOf = Readonly<Record<string, () => boolean>>;

/** The health of what a server has. */
export class Health {
  readonly #services: ReadonlyMap<string, () => boolean>;
  readonly #maxWatchers: number;
  readonly #watchers = new Set<Watcher>();
  #poll: NodeJS.Timeout | undefined;
  #draining = false;

  constructor(services: HealthOf, maxWatchers: number = MAX_WATCHERS) {
    this.#services = new Map(Object.entries(services));
    this.#maxWatchers = maxWatchers;
  }

  /** Adds the service to a server that is not yet bound. */
  addTo(server: Server): void {
    const { check, list } = HealthService.method;
    server.addService(definitionOf(HealthService), {
      Check: unary(check, ({ service }) => {
        if (!this.#services.has(service)) throw new ConnectError("there is no such service here", Code.NotFound);
        return { status: this.#status(service) };
      }),
      List: unary(list, () => ({
        statuses: Object.fromEntries([...this.#services.keys()].map((service) => [service, { status: this.#status(service) }])),
      })),
      Watch: (call: ServerWritableStream<Buffer, Buffer>) => this.#watch(call),
    });
  }

  /** Tells those who watch, if there is something new. To be called where readiness is known to have changed. */
  refresh(): void {
    for (const watcher of this.#watchers) watcher.tell(this.#status(watcher.service));
  }

  /** Tells those who watch what is true now, and ends them and all that come later: they are to ask another replica. */
  drain(): void {
    this.#draining = true;
    this.refresh();
    for (const watcher of this.#watchers) watcher.end();
  }

  #status(service: string): Status {
    const well = this.#services.get(service);
    if (well === undefined) return Status.SERVICE_UNKNOWN;
    return well() ? Status.SERVING : Status.NOT_SERVING;
  }

  #watch(call: ServerWritableStream<Buffer, Buffer>): void {
    try {
      const { service } = decode(HealthService.method.watch, call.request) as HealthCheckRequest;
      if (this.#watchers.size >= this.#maxWatchers) throw connectError("RESOURCE_EXHAUSTED", "too many watch already");
      const watcher = new Watcher(service, call);
      this.#watchers.add(watcher);
      this.#poll ??= setInterval(() => this.refresh(), POLL_MS).unref();
      // Told at every end of a call, whoever ended it.
      call.on("cancelled", () => this.#remove(watcher));
      watcher.tell(this.#status(service));
      if (this.#draining) watcher.end();
    } catch (error) {
      call.emit("error", statusOf(error));
    }
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}

/** One Watch. At most one message waits for its reader; what changed meanwhile is told by what is true then. */
class Watcher {
  readonly service: string;
  readonly #call: ServerWritableStream<Buffer, Buffer>;
  #told: Status | undefined;
  #wanted: Status | undefined;
  #writing = false;
  #end: "no" | "wanted" | "told" = "no";

  constructor(service: string, call: ServerWritableStream<Buffer, Buffer>) {
    this.service = service;
    this.#call = call;
  }

  tell(status: Status): void {
    this.#wanted = status;
    this.#step();
  }

  end(): void {
    if (this.#end === "no") this.#end = "wanted";
    this.#step();
  }

  #step(): void {
    if (this.#writing || this.#call.cancelled) return;
    if (this.#wanted !== undefined && this.#wanted !== this.#told) {
      this.#told = this.#wanted;
      this.#writing = true;
      const message = create(HealthCheckResponseSchema, { status: this.#told });
      this.#call.write(asBuffer(toBinary(HealthCheckResponseSchema, message)), () => {
        this.#writing = false;
        this.#step();
      });
    } else if (this.#end === "wanted") {
      this.#end = "told";
      this.#call.emit("error", statusOf(connectError("SERVER_DRAINING", "this replica is going away: ask another one")));
    }
  }
}

/** The handler of a method that is answered at once. */
function unary<M extends DescMethodUnary>(
  method: M,
  answer: (request: MessageShape<M["input"]>) => MessageInitShape<M["output"]>,
): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    try {
      const request = decode(method, call.request) as MessageShape<M["input"]>;
      const { output } = method;
      callback(null, asBuffer(toBinary(output, create(output, answer(request)))));
    } catch (error) {
      callback(statusOf(error));
    }
  };
}
