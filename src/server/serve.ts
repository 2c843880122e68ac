/** The composition root: an agent and options in, a running server out. */
import type { Server as HttpServer } from "node:http";
import { type Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { Health as HealthService } from "../../gen/health/v1/health_pb.ts";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { cardHandler } from "../bindings/card.ts";
import { corsHandler } from "../bindings/cors.ts";
import { connectHandler } from "../bindings/connect/handler.ts";
import { Health } from "../bindings/grpc/health.ts";
import { Reflection } from "../bindings/grpc/reflection.ts";
import { grpcServer, listenGrpc } from "../bindings/grpc/server.ts";
import { listen, listener } from "../bindings/http.ts";
import { HttpPort } from "../bindings/http-port.ts";
import { jsonRpcHandler } from "../bindings/json-rpc/handler.ts";
import { openApiHandler } from "../bindings/openapi/handler.ts";
import { Egress } from "../bindings/progress.ts";
import { restHandler } from "../bindings/rest/handler.ts";
import { EventStreams } from "../bindings/sse.ts";
import type { Agent } from "../core/agent.ts";
import { Snapshots } from "../core/snapshots.ts";
import type { Storage } from "../core/storage.ts";
import { type Log, SILENT } from "../core/telemetry.ts";
import { anonymous } from "../rpc/auth/anonymous.ts";
import { type Authenticate, type Authorize, ownedByName, type OwnerOf } from "../rpc/auth/authenticate.ts";
import { bearerTokens } from "../rpc/auth/bearer-tokens.ts";
import { internalErrors } from "../rpc/errors.ts";
import { guard } from "../rpc/policy.ts";
import { A2AServiceImpl } from "../service/a2a-service.ts";
import { abandonTask } from "../service/cancel-task.ts";
import { declareBearer, nameInterfaces, publicCard } from "../service/agent-card.ts";
import { callDrained, streamDrained, Streams } from "../service/streams.ts";
import { MemoryStorage } from "../storage/memory/memory-storage.ts";
import { pause } from "../core/pause.ts";
import { Worker } from "../worker/worker.ts";
import { opsServer } from "./ops.ts";
import { ServerWebhooks } from "./webhooks.ts";
import { OptionsError, resolveOptions, type ServerOptions, type ServerOptionsInput } from "./options.ts";

/** What to serve. Everything but the agent has a default. */
export interface ServeInit extends ServerOptionsInput {
  readonly agent: Agent;
  /** Default: Redis where `redis.url` is given, else a memory store of this process. */
  readonly storage?: Storage;
  /** Default: bearer tokens where `tokens` are given, else everybody is `anonymous`. */
  readonly authenticate?: Authenticate;
  /** Whether a principal may call an operation. Default: by `auth.scopes`. */
  readonly authorize?: Authorize;
  /** Whose a principal's tasks are: who has the same owner sees the same tasks. Default: each principal's own. */
  readonly ownerOf?: OwnerOf;
  /** Default: silent. */
  readonly log?: Log;
}

/** starting → serving → draining → closed. */
export type ServerState = "starting" | "serving" | "draining" | "closed";

/** How a drain may be hurried. */
export interface DrainOptions {
  /** Skips the waiting, not the order. */
  readonly skip?: AbortSignal;
  /** Skips `drainDelayMs` only: no load balancer is in front. Default false. */
  readonly atOnce?: boolean;
}

const CARD_MAX_AGE_SECONDS = 300;
const MAX_QUEUED_BYTES = 64 * 1024;
/** What a call needs to answer once its task has ended. */
const ANSWER_MS = 100;
const IDLE_CHECK_MS = 10;
const JSON_RPC_BASES = ["/jsonrpc", "/a2a/jsonrpc"];

/** Starts a server; resolves when all its ports listen. */
export async function serve(init: ServeInit): Promise<RunningServer> {
  const { agent, storage, authenticate, authorize, ownerOf, log, ...given } = init;
  const options = resolveOptions(given);
  const own = storage === undefined ? await openStorage(agent, options, log ?? SILENT) : undefined;
  const server = new RunningServer(agent, options, {
    storage: storage ?? own,
    ownsStorage: own !== undefined,
    authenticate,
    authorize,
    ownerOf,
    log,
  });
  await server.start();
  return server;
}

/** The store that the options ask for. Throws {@link OptionsError} where it cannot be used. */
async function openStorage(agent: Agent, options: ServerOptions, log: Log): Promise<Storage> {
  const { url, ...redis } = options.redis;
  if (url === undefined) return new MemoryStorage(options);
  // Not loaded where nobody asks for it.
  const { RedisStorage, StoreSetupError } = await import("../storage/redis/index.ts");
  const facts = { agent: agent.card.name ?? "agent", warn: (message: string) => log.warn({}, message) };
  try {
    return await RedisStorage.open({ ...options, ...redis, url }, facts);
  } catch (error) {
    if (error instanceof StoreSetupError) throw new OptionsError(error.message, { cause: error });
    throw error;
  }
}

/** A server with its ports, from start to close. Disposing it drains it. */
export class RunningServer implements AsyncDisposable {
  readonly options: ServerOptions;
  /** The card as it is served. */
  readonly card: AgentCard;
  readonly #log: Log;
  readonly #storage: Storage;
  readonly #ownsStorage: boolean;
  readonly #streams = new Streams(streamDrained);
  readonly #waits = new Streams(callDrained);
  readonly #worker: Worker;
  readonly #webhooks: ServerWebhooks;
  readonly #snapshots: Snapshots;
  readonly #grpc: GrpcServer;
  readonly #health: Health;
  readonly #reflection: Reflection | undefined;
  readonly #http: HttpPort;
  readonly #ops: HttpServer;
  #ports = { grpc: 0, http: 0, ops: 0 };
  #state: ServerState = "starting";
  #drained: Promise<void> | undefined;

  constructor(agent: Agent, options: ServerOptions, parts: Parts) {
    const [streams, waits, log] = [this.#streams, this.#waits, parts.log ?? SILENT];
    this.options = options;
    this.#log = log;
    this.#storage = parts.storage ?? new MemoryStorage(options);
    this.#ownsStorage = parts.ownsStorage ?? parts.storage === undefined;
    const known = parts.authenticate !== undefined || options.tokens !== undefined;
    // The capability wants an authenticator, and a card; a card that declares it without one is told so when it is asked.
    const extended = known && (agent.extendedCard !== undefined || agent.card.capabilities?.extendedAgentCard === true);
    this.card = publicCard(agent.card, options, extended);
    if (parts.authenticate === undefined && options.tokens !== undefined) declareBearer(this.card);
    const storage = this.#storage;
    const snapshots = new Snapshots(storage, options);
    this.#snapshots = snapshots;
    this.#webhooks = new ServerWebhooks(options);
    const abandon = (taskId: string): Promise<void> => abandonTask({ agent, log, storage, snapshots }, taskId);
    this.#worker = new Worker({ agent, storage, snapshots, options, log, abandon });
    const worker = this.#worker;
    const { ownerOf = ownedByName } = parts;
    const service = new A2AServiceImpl({
      agent,
      log,
      webhooks: this.#webhooks,
      card: this.card,
      storage,
      snapshots,
      worker,
      options,
      streams,
      waits,
      ownerOf,
    });
    const authenticate = parts.authenticate ?? (options.tokens === undefined ? anonymous : bearerTokens(options.tokens));
    const guarded = guard(A2AService, service, {
      authenticate,
      authorize: parts.authorize,
      card: this.card,
      assumeVersion: options.assumeVersion,
      errorCodes: options.errorCodes,
    });
    const slow = {
      ...options,
      maxQueuedBytes: MAX_QUEUED_BYTES,
      egress: new Egress(options.egressBytes),
    };
    const eventStreams = new EventStreams(slow);
    const rpc = { ...options, eventStreams, paths: ["/", ...JSON_RPC_BASES] };
    const ready = (): boolean => this.#state === "serving" && storage.available();
    this.#grpc = grpcServer(guarded, slow);
    this.#health = new Health([A2AService.typeName], ready);
    this.#health.addTo(this.#grpc);
    this.#reflection = options.reflection ? new Reflection([A2AService, HealthService]) : undefined;
    this.#reflection?.addTo(this.#grpc);
    const rest = { ...options, eventStreams, tenantRoutes: options.tenants !== undefined };
    const card = cardHandler(() => this.card, JSON_RPC_BASES, CARD_MAX_AGE_SECONDS);
    const openApi = openApiHandler(A2AService, () => this.card, { ...rest, maxAgeSeconds: CARD_MAX_AGE_SECONDS });
    const cors = options.cors.origins.length === 0 ? [] : [corsHandler(options.cors)];
    const handlers = [...cors, card, openApi, connectHandler(guarded, options), jsonRpcHandler(guarded, rpc), restHandler(guarded, rest)];
    const onBroken = (error: unknown): void => log.error({ error }, "an HTTP handler broke");
    this.#http = new HttpPort(listener(handlers, slow, onBroken), options);
    this.#ops = opsServer(slow, ready, log);
  }

  readonly #logInternal = (error: unknown): void => this.#log.error({ error }, "a call failed for a reason of our own");

  get state(): ServerState {
    return this.#state;
  }

  /** The ports that listen. */
  get ports(): { readonly grpc: number; readonly http: number; readonly ops: number } {
    return this.#ports;
  }

  /** Binds the ports. Called by {@link serve}. Throws {@link OptionsError} where one cannot be had, and leaves none bound. */
  async start(): Promise<void> {
    internalErrors.subscribe(this.#logInternal);
    try {
      await this.#bind();
    } catch (error) {
      this.#grpc.forceShutdown();
      void this.#http.close();
      this.#ops.close();
      if (this.#ownsStorage) await this.#storage.close();
      internalErrors.unsubscribe(this.#logInternal);
      this.#state = "closed";
      throw error;
    }
    this.#worker.start();
    this.#webhooks.start({ storage: this.#storage, snapshots: this.#snapshots, log: this.#log });
    this.#become("serving");
  }

  #become(state: ServerState): void {
    this.#state = state;
    this.#health.refresh();
  }

  async #bind(): Promise<void> {
    const { host, grpcPort, httpPort, opsPort } = this.options;
    const shown = host.includes(":") ? `[${host}]` : host;
    const credentials = ServerCredentials.createInsecure();
    const grpc = await listenGrpc(this.#grpc, `${shown}:${grpcPort}`, credentials).catch(notBound("grpcPort", host, grpcPort));
    const ops = await listen(this.#ops, opsPort, host).catch(notBound("opsPort", host, opsPort));
    // Last, and then no wait: nobody gets a card that does not say yet where the agent is.
    const http = await this.#http.listen(httpPort, host).catch(notBound("httpPort", host, httpPort));
    nameInterfaces(this.card, {
      grpc: this.options.publicGrpcUrl ?? `${shown}:${grpc}`,
      http: this.options.publicHttpUrl ?? `http://${shown}:${http}`,
      restPrefix: this.options.restPrefix,
    });
    this.#ports = { grpc, http, ops };
  }

  /**
   * Hands over, finishes, closes: readiness, tasks that can be resumed, streams, other turns and calls, in this order (docs/architecture.md,
   * Draining). Idempotent: a second call joins the first.
   */
  drain(options: DrainOptions = {}): Promise<void> {
    this.#drained ??= this.#drain(options);
    return this.#drained;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain({ atOnce: true });
  }

  async #drain({ skip, atOnce = false }: DrainOptions): Promise<void> {
    const { drainDelayMs, streamGraceMs } = this.options;
    this.#become("draining");
    this.#log.info({}, "draining; a second signal stops the waiting");
    if (!atOnce) await pause(drainDelayMs, skip);
    const finished = this.#worker.drain(skip);
    await this.#streams.idle(streamGraceMs, skip);
    this.#streams.drain();
    this.#health.drain();
    this.#reflection?.drain();
    const closed = this.#closePorts();
    await finished;
    await this.#webhooks.drain();
    // What waits for a task that ended here has its answer; the rest is told to ask another replica.
    await this.#waits.idle(ANSWER_MS);
    this.#waits.drain();
    await this.#flushed(closed);
    this.#grpc.forceShutdown();
    this.#http.closeAllConnections();
    await closed;
    if (this.#ownsStorage) await this.#storage.close();
    internalErrors.unsubscribe(this.#logInternal);
    this.#state = "closed";
    this.#log.info({}, "closed");
  }

  /** Lets what was said last reach its readers. Not a wait that can be skipped: it would take the reason from those who are to come back. */
  async #flushed(closed: Promise<void>): Promise<void> {
    const over = new AbortController();
    // A connection whose last stream has ended is idle, and kept alive by its client only.
    const idle = setInterval(() => this.#http.closeIdleConnections(), IDLE_CHECK_MS);
    await Promise.race([closed, pause(this.options.stallFlushMs, over.signal)]);
    clearInterval(idle);
    over.abort();
  }

  /** Says GOAWAY and takes no more connections; resolves when the last one is gone. */
  async #closePorts(): Promise<void> {
    const grpc = Promise.withResolvers<void>();
    this.#grpc.tryShutdown(() => grpc.resolve());
    await Promise.all([grpc.promise, this.#http.close()]);
    this.#ops.close();
    this.#ops.closeAllConnections();
  }
}

/** Says which option is to blame for a port that could not be bound. */
function notBound(option: "grpcPort" | "httpPort" | "opsPort", host: string, port: number): (cause: Error) => never {
  return (cause) => {
    // grpc-js has the system's error in its text only.
    const { message } = cause;
    if (message.includes("EADDRINUSE")) throw new OptionsError(`${option}: ${host}:${port} is in use already`, { cause });
    if (message.includes("EACCES")) throw new OptionsError(`${option}: this process may not listen on port ${port}`, { cause });
    if (/EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|resol/i.test(message)) {
      throw new OptionsError(`host: ${host} is no address of this machine`, { cause });
    }
    throw new OptionsError(`${option}: cannot listen on ${host}:${port}: ${message}`, { cause });
  };
}

/** Parts that a caller may bring. */
interface Parts {
  readonly storage: Storage | undefined;
  /** Whether the server closes the store. Default: where it made it itself. */
  readonly ownsStorage?: boolean;
  readonly authenticate: Authenticate | undefined;
  readonly authorize?: Authorize | undefined;
  readonly ownerOf?: OwnerOf | undefined;
  readonly log: Log | undefined;
}
