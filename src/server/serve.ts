/** The composition root: an agent and options in, a running server out. */
import type { Server as HttpServer } from "node:http";
import type { Server as GrpcServer } from "@grpc/grpc-js";
import { Health as HealthService } from "../../gen/health/v1/health_pb.ts";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { cardHandler } from "../bindings/card.ts";
import { corsHandler } from "../bindings/cors.ts";
import { connectHandler } from "../bindings/connect/handler.ts";
import { Health } from "../bindings/grpc/health.ts";
import { Reflection } from "../bindings/grpc/reflection.ts";
import { grpcServer, listenGrpc } from "../bindings/grpc/server.ts";
import { serverCredentials } from "../bindings/grpc/server-credentials.ts";
import { hstsHandler } from "../bindings/hsts.ts";
import { listen, listener } from "../bindings/http.ts";
import type { HttpHandler } from "../bindings/http-exchange.ts";
import { HttpPort } from "../bindings/http-port.ts";
import { jsonRpcHandler } from "../bindings/json-rpc/handler.ts";
import { openApiHandler } from "../bindings/openapi/handler.ts";
import { Egress } from "../bindings/progress.ts";
import { publish } from "../bindings/published.ts";
import { restHandler } from "../bindings/rest/handler.ts";
import { EventStreams } from "../bindings/sse.ts";
import type { Agent } from "../core/agent.ts";
import { Snapshots } from "../core/snapshots.ts";
import { Spender } from "../core/spender.ts";
import type { Storage } from "../core/storage.ts";
import type { Log } from "../core/telemetry.ts";
import { type Authenticate, type Authorize, ownedByName, type OwnerOf } from "../rpc/auth/authenticate.ts";
import { CallLimits } from "../rpc/call-limits.ts";
import { internalErrors } from "../rpc/errors.ts";
import { guard } from "../rpc/policy.ts";
import { A2AServiceImpl } from "../service/a2a-service.ts";
import { abandonTask } from "../service/cancel-task.ts";
import { httpUrlOf, nameInterfaces } from "../service/agent-card.ts";
import { callDrained, streamDrained, Streams } from "../service/streams.ts";
import { MemoryStorage } from "../storage/memory/memory-storage.ts";
import { pause } from "../core/pause.ts";
import { Worker } from "../worker/worker.ts";
import { type Access, accessOf } from "./access.ts";
import { JWKS_PATH, signCard } from "./card-signer.ts";
import { ANSWER_MS, longestDrainMs } from "./drain-time.ts";
import { requestBoundsOf } from "./limit-options.ts";
import { notBound } from "./not-bound.ts";
import { notificationSigner } from "./notification-signer.ts";
import { openStorage } from "./open-storage.ts";
import { opsServer, type Scrape } from "./ops.ts";
import { healthOf, Probes } from "./probes.ts";
import { CARD_MAX_AGE_SECONDS, servedCard } from "./served-card.ts";
import { SigningKeys } from "./signing-keys.ts";
import { guardedLog } from "../core/guarded-log.ts";
import { type ServerTelemetry, serverTelemetry } from "./telemetry/server-telemetry.ts";
import { TlsFiles } from "./tls-files.ts";
import { ServerWebhooks } from "./webhooks.ts";
import { shareWriteBuffer } from "./write-buffer.ts";
import { resolveOptions, type ServerOptions, type ServerOptionsInput } from "./options.ts";

/** What to serve. Everything but the agent has a default. */
export interface ServeInit extends ServerOptionsInput {
  readonly agent: Agent;
  /** Default: Redis where `redis.url` is given, else a memory store of this process. */
  readonly storage?: Storage;
  /** Who calls. Default: as `tokens` and `auth` say; without them everybody is `anonymous`. */
  readonly authenticate?: Authenticate;
  /** Whether a principal may call an operation. Default: by `auth.scopes`. */
  readonly authorize?: Authorize;
  /** Whose a principal's tasks are: who has the same owner sees the same tasks. Default: each principal's own. */
  readonly ownerOf?: OwnerOf;
  /** Default: silent. */
  readonly log?: Log;
  /** What `/metrics` of the operations port answers. Default: the path is not there; the global meter provider is told all the same. */
  readonly scrape?: Scrape | undefined;
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

const MAX_QUEUED_BYTES = 64 * 1024;
const IDLE_CHECK_MS = 10;
const JSON_RPC_BASES = ["/jsonrpc", "/a2a/jsonrpc"];

/** Starts a server; resolves when all its ports listen. */
export async function serve(init: ServeInit): Promise<RunningServer> {
  shareWriteBuffer();
  const { agent, storage, authenticate, authorize, ownerOf = ownedByName, log: told, scrape, ...given } = init;
  const [log, options] = [guardedLog(told), resolveOptions(given)];
  const [tls, keys] = [await TlsFiles.open(options.tls, log), await SigningKeys.open(options.signing.keys)];
  const access = accessOf(options, { authenticate, authorize }, log);
  const card = servedCard(agent, options, access, log);
  const telemetry = serverTelemetry(log, options);
  const own = storage === undefined ? await openStorage(agent, options, { log, measures: telemetry.measures }) : undefined;
  const parts = { storage: storage ?? own, ownsStorage: own !== undefined, card, access, ownerOf, tls, keys, log, telemetry, scrape };
  const server = new RunningServer(agent, options, parts);
  await server.start();
  return server;
}

/** A server with its ports, from start to close. Disposing it drains it. */
export class RunningServer implements AsyncDisposable {
  readonly options: ServerOptions;
  /** The card as it is served. */
  readonly card: AgentCard;
  readonly #log: Log;
  readonly #telemetry: ServerTelemetry;
  readonly #storage: Storage;
  readonly #ownsStorage: boolean;
  readonly #streams: Streams;
  readonly #waits = new Streams(callDrained);
  readonly #worker: Worker;
  readonly #webhooks: ServerWebhooks;
  readonly #snapshots: Snapshots;
  readonly #grpc: GrpcServer;
  readonly #health: Health;
  readonly #probes: Probes;
  readonly #reflection: Reflection | undefined;
  readonly #http: HttpPort;
  readonly #ops: HttpServer;
  readonly #tls: TlsFiles | undefined;
  readonly #keys: SigningKeys | undefined;
  /** Resolves when the card says where the agent is, and is signed. */
  readonly #named = Promise.withResolvers<void>();
  #ports = { grpc: 0, http: 0, ops: 0 };
  #state: ServerState = "starting";
  #drained: Promise<void> | undefined;

  constructor(agent: Agent, options: ServerOptions, parts: Parts) {
    const { access, log, telemetry, tls, keys, ownerOf } = parts;
    const { measures, tracing, observer } = telemetry;
    this.#streams = new Streams(streamDrained, measures);
    this.options = options;
    this.#log = log;
    this.#telemetry = telemetry;
    this.#storage = parts.storage ?? new MemoryStorage(options);
    this.#ownsStorage = parts.ownsStorage;
    this.#tls = tls;
    this.#keys = keys;
    this.card = parts.card;
    const storage = this.#storage;
    const snapshots = new Snapshots(storage, options, measures);
    this.#snapshots = snapshots;
    this.#webhooks = new ServerWebhooks(options);
    const abandon = (taskId: string): Promise<void> => abandonTask({ agent, log, storage, snapshots }, taskId);
    this.#worker = new Worker({ agent, storage, snapshots, options, log, measures, tracing, abandon });
    const service = new A2AServiceImpl({
      agent,
      log,
      webhooks: this.#webhooks,
      card: this.card,
      storage,
      snapshots,
      worker: this.#worker,
      options,
      streams: this.#streams,
      waits: this.#waits,
      ownerOf,
      signCard: (extendedCard) => this.#sign(extendedCard),
    });
    const rates = new Spender(storage);
    const guarded = guard(A2AService, service, {
      limits: new CallLimits(options.limits, (key, rate) => rates.take(key, rate)),
      observer,
      authenticate: access.authenticate,
      authorize: access.authorize,
      card: this.card,
      assumeVersion: options.assumeVersion,
      errorCodes: options.errorCodes,
    });
    const egress = new Egress(options.egressBytes, options.stalledStreamMs);
    measures.observe({ available: () => storage.available(), sent: () => egress.sent, egress: () => egress.sizes });
    const wire = { ...options, requestBounds: requestBoundsOf(options.limits) };
    const slow = { ...wire, maxQueuedBytes: MAX_QUEUED_BYTES, egress };
    const eventStreams = new EventStreams(slow);
    this.#probes = new Probes({ ...options, state: () => this.#state, available: () => storage.available() });
    this.#grpc = grpcServer(guarded, { ...slow, bounds: options.limits });
    this.#health = new Health(healthOf(this.#probes));
    this.#health.addTo(this.#grpc);
    this.#reflection = options.reflection ? new Reflection([A2AService, HealthService]) : undefined;
    this.#reflection?.addTo(this.#grpc);
    const rest = { ...wire, eventStreams, tenantRoutes: options.tenants !== undefined };
    const card = cardHandler(() => this.card, JSON_RPC_BASES, CARD_MAX_AGE_SECONDS);
    const openApi = openApiHandler(A2AService, () => this.card, { ...rest, maxAgeSeconds: CARD_MAX_AGE_SECONDS });
    const cors = options.cors.origins.length === 0 ? [] : [corsHandler({ ...options.cors, headers: access.headers })];
    const handlers = [
      ...this.#first(),
      ...cors,
      card,
      openApi,
      connectHandler(guarded, wire),
      jsonRpcHandler(guarded, { ...wire, eventStreams, paths: ["/", ...JSON_RPC_BASES] }),
      restHandler(guarded, rest),
    ];
    const onBroken = (error: unknown): void => log.error({ error }, "an HTTP handler broke");
    this.#http = new HttpPort(listener(handlers, slow, onBroken), { ...options, tls, bounds: options.limits });
    this.#ops = opsServer(slow, { probes: this.#probes, scrape: parts.scrape, log });
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
      this.#telemetry.measures[Symbol.dispose]();
      this.#state = "closed";
      throw error;
    }
    this.#worker.start();
    const sign = this.options.push.sign && this.#keys ? notificationSigner(this.#keys, httpUrlOf(this.card)) : undefined;
    this.#webhooks.start({ storage: this.#storage, snapshots: this.#snapshots, log: this.#log, ...this.#telemetry, sign });
    this.#probes.start();
    this.#become("serving");
  }

  #become(state: ServerState): void {
    this.#state = state;
    this.#health.refresh();
  }

  async #bind(): Promise<void> {
    const { host, grpcPort, httpPort, opsPort } = this.options;
    const shown = host.includes(":") ? `[${host}]` : host;
    const grpc = await listenGrpc(this.#grpc, `${shown}:${grpcPort}`, serverCredentials(this.#tls), this.options.limits).catch(
      notBound("grpcPort", host, grpcPort),
    );
    const ops = await listen(this.#ops, opsPort, host).catch(notBound("opsPort", host, opsPort));
    // Last, and then no wait but for a signature: nobody gets a card that does not say yet where the agent is.
    const http = await this.#http.listen(httpPort, host).catch(notBound("httpPort", host, httpPort));
    nameInterfaces(this.card, {
      grpc: this.options.publicGrpcUrl ?? `${shown}:${grpc}`,
      http: this.options.publicHttpUrl ?? `${this.#tls === undefined ? "http" : "https"}://${shown}:${http}`,
      restPrefix: this.options.restPrefix,
    });
    await this.#sign(this.card);
    this.#named.resolve();
    this.#ports = { grpc, http, ops };
  }

  /** What comes before all that answers HTTP. */
  #first(): HttpHandler[] {
    const { hstsMaxAgeSeconds } = this.options.tls;
    const handlers = this.#tls === undefined || hstsMaxAgeSeconds === 0 ? [] : [hstsHandler(hstsMaxAgeSeconds)];
    const keys = this.#keys?.published;
    if (keys === undefined) return handlers;
    const published = publish({ paths: [JWKS_PATH], source: () => keys, json: JSON.stringify, maxAgeSeconds: CARD_MAX_AGE_SECONDS });
    return [...handlers, async () => this.#named.promise.then(() => false), published];
  }

  /** Signs a card whose interfaces are named. */
  async #sign(card: AgentCard): Promise<void> {
    const url = httpUrlOf(this.card);
    const base = url.startsWith("https:") && this.options.signing.jku ? url : undefined;
    if (this.#keys !== undefined) await signCard(card, this.#keys, base && `${base}${JWKS_PATH}`);
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
    this.#log.info({ atMostMs: longestDrainMs(this.options) }, "draining; a second signal stops the waiting");
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
    // Last: who watches over this process is answered for as long as anything runs in it.
    this.#ops.close();
    this.#ops.closeAllConnections();
    if (this.#ownsStorage) await this.#storage.close();
    internalErrors.unsubscribe(this.#logInternal);
    this.#probes.stop();
    this.#telemetry.measures[Symbol.dispose]();
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
  }
}

/** What a server is made of besides the agent. */
interface Parts {
  readonly storage: Storage | undefined;
  /** Whether the server closes the store. */
  readonly ownsStorage: boolean;
  readonly card: AgentCard;
  readonly access: Access;
  readonly ownerOf: OwnerOf;
  /** Undefined: clear text. */
  readonly tls: TlsFiles | undefined;
  /** Undefined: cards are not signed. */
  readonly keys: SigningKeys | undefined;
  readonly log: Log;
  readonly telemetry: ServerTelemetry;
  readonly scrape: Scrape | undefined;
}
