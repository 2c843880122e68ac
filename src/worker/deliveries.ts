/** Deliveries of a replica: claims tasks that have something for webhooks, delivers, and lets go of them. */
import type { Delivery } from "../core/deliveries.ts";
import { isAway } from "../core/errors.ts";
import { newToken } from "../core/log-entry.ts";
import { pause } from "../core/pause.ts";
import { type DeliveryContext, WebhookDelivery } from "./delivery.ts";
import { HeldClaim } from "./held-claim.ts";

/** A task whose webhooks have had nothing to do for this long is let go of. */
const IDLE_MS = 5000;
/** A webhook that waits longer than this for its next attempt does not keep the claim. */
const LONG_WAIT_MS = 20_000;
/** Between two looks at what can be let go of. */
const LOOK_MS = 1000;
/** Most claims of one step. */
const CLAIM_LIMIT = 64;
/** What a request under way gets at the end. */
export const LAST_REQUEST_MS = 2000;

/** Times of a replica, of {@link DeliveryContext}. */
export interface DeliveryTimes {
  readonly replica: string;
  readonly sweepMs: number;
  readonly renewMs: number;
  /** How long the store keeps a claim. */
  readonly leaseMs: number;
}

/** The webhooks of one claimed task. */
interface Claimed {
  readonly claim: HeldClaim;
  readonly webhooks: Map<string, { readonly delivery: WebhookDelivery; readonly run: Promise<void> }>;
  /** What this replica had under way for the task under an earlier claim comes first. */
  readonly after: Promise<void>;
  /** Since when none of them has had anything to do. */
  idleSince: number | undefined;
}

/** Delivers on this replica. */
export class Deliveries {
  readonly #context: DeliveryContext;
  readonly #times: DeliveryTimes;
  readonly #claimed = new Map<string, Claimed>();
  readonly #timers: NodeJS.Timeout[] = [];
  #ear: Disposable | undefined;
  #claiming: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(context: DeliveryContext, times: DeliveryTimes) {
    this.#context = context;
    this.#times = times;
  }

  /** Tasks whose deliveries this replica has claimed. */
  get claimed(): number {
    return this.#claimed.size;
  }

  /** Begins to listen, claim and deliver. */
  start(): void {
    const { storage } = this.#context;
    this.#ear = storage.listen(this.#times.replica, (hint) => {
      if (hint.is !== "deliveries") return;
      const known = this.#claimed.get(hint.taskId);
      if (known === undefined) this.#wake();
      else void this.#guard("look at webhooks", () => this.#look(known));
    });
    this.#every(this.#times.sweepMs, async () => this.#wake());
    this.#every(this.#times.renewMs, () => this.#hold());
    this.#every(LOOK_MS, () => this.#letGoOfIdle());
    this.#wake();
  }

  #every(ms: number, step: () => Promise<void>): void {
    let running: Promise<void> | undefined;
    const timer = setInterval(() => {
      running ??= this.#guard("lead deliveries", step).finally(() => {
        running = undefined;
      });
    }, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  #wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#claiming ??= this.#guard("claim deliveries", () => this.#claim()).finally(() => {
      this.#claiming = undefined;
      if (this.#again) this.#wake();
    });
  }

  async #claim(): Promise<void> {
    const { storage, options } = this.#context;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const limit = Math.min(CLAIM_LIMIT, options.maxClaims - this.#claimed.size);
      if (limit <= 0) return;
      const asked = performance.now();
      const claims = await storage.claimDeliveries(newToken(), limit);
      if (claims.length === limit) this.#again = true;
      for (const claim of claims) this.#begin(new HeldClaim(claim, this.#times.leaseMs, asked));
    }
  }

  #begin(claim: HeldClaim): void {
    const before = this.#claimed.get(claim.taskId);
    const after = before === undefined ? Promise.resolve() : stopped(before);
    const claimed: Claimed = { claim, webhooks: new Map(), after, idleSince: undefined };
    this.#claimed.set(claim.taskId, claimed);
    void this.#guard("begin deliveries", () => this.#look(claimed));
  }

  /** Begins with webhooks that are new, and lets the others know what was written again. */
  async #look({ claim, webhooks, after }: Claimed): Promise<void> {
    await after;
    // What ends while this is read is not begun again by what is read.
    const running = new Set([...webhooks].flatMap(([id, { delivery }]) => (delivery.over ? [] : [id])));
    const deliveries = await this.#context.storage.deliveriesOf(claim.taskId);
    if (this.#claimed.get(claim.taskId)?.claim !== claim) return;
    for (const delivery of deliveries) {
      const { id } = delivery.config;
      if (running.has(id)) webhooks.get(id)?.delivery.refresh(delivery.config);
      else if (delivery.is === "active" && webhooks.get(id)?.delivery.over !== false) this.#start(claim, webhooks, delivery);
    }
  }

  #start(claim: HeldClaim, webhooks: Claimed["webhooks"], given: Delivery): void {
    const delivery = new WebhookDelivery(this.#context, claim, given);
    webhooks.set(given.config.id, { delivery, run: delivery.run() });
  }

  /** Prolongs every claim; what is another replica's by now ends here. */
  async #hold(): Promise<void> {
    const all = [...this.#claimed.values()];
    if (all.length === 0) return;
    const asked = performance.now();
    const held = await this.#context.storage.holdDeliveries(all.map(({ claim }) => claim));
    await Promise.all(
      all.map(async (claimed, at) => {
        if (held[at] === false) return this.#drop(claimed);
        if (held[at] === undefined) return undefined;
        claimed.claim.prolonged(asked);
        return this.#look(claimed);
      }),
    );
  }

  async #drop(claimed: Claimed): Promise<void> {
    const { taskId } = claimed.claim;
    if (this.#claimed.get(taskId) !== claimed) return;
    this.#claimed.delete(taskId);
    await stopped(claimed);
  }

  async #letGoOfIdle(): Promise<void> {
    await Promise.all([...this.#claimed.values()].map((claimed) => this.#letGoOf(claimed)));
  }

  /** Lets go of a task where every webhook is over, waits for more, or waits long. */
  async #letGoOf(claimed: Claimed): Promise<void> {
    if ([...claimed.webhooks.values()].some(({ delivery }) => delivery.newer)) return this.#leave(claimed);
    const open = [...claimed.webhooks.values()].map(({ delivery }) => delivery).filter(({ over }) => !over);
    const quiet = open.every(({ idleAt, waitsMs }) => idleAt !== undefined || waitsMs > LONG_WAIT_MS);
    if (!quiet) {
      claimed.idleSince = undefined;
      return undefined;
    }
    claimed.idleSince ??= performance.now();
    if (open.length > 0 && performance.now() - claimed.idleSince < IDLE_MS) return undefined;
    const waits = open.flatMap(({ waitsMs }) => (waitsMs > 0 ? [waitsMs] : []));
    const seen = Math.min(Infinity, ...open.flatMap(({ idleAt }) => idleAt ?? []));
    const againInMs = waits.length === 0 ? undefined : Math.min(...waits);
    if (await this.#context.storage.letGo(claimed.claim, { webhooks: open.length, seen, againInMs })) {
      return this.#drop(claimed);
    }
    claimed.idleSince = undefined;
    return this.#look(claimed);
  }

  /** Claims no more, ends what it does, and leaves the rest to other replicas at once. Idempotent. */
  async drain(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#ear?.[Symbol.dispose]();
    await this.#claiming;
    await Promise.all([...this.#claimed.values()].map((claimed) => this.#leave(claimed)));
  }

  /** Leaves all that there is to do for a task to another replica. */
  async #leave(claimed: Claimed): Promise<void> {
    await this.#drop(claimed);
    await this.#guard("let go of deliveries", async () => {
      await this.#context.storage.letGo(claimed.claim, { webhooks: Infinity, seen: Infinity, againInMs: 0 });
    });
  }

  async #guard(what: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!isAway(error)) this.#context.log.error({ error }, `could not ${what}`);
    }
  }
}

/** Ends the webhooks of a task; a request under way gets a moment. */
async function stopped({ webhooks }: Claimed): Promise<void> {
  const runs = [...webhooks.values()];
  if (runs.length === 0) return;
  const late = new AbortController();
  for (const { delivery } of runs) delivery.stop();
  const ended = Promise.all(runs.map(({ run }) => run));
  await Promise.race([ended, pause(LAST_REQUEST_MS, late.signal)]);
  late.abort();
  for (const { delivery } of runs) delivery.kill();
  await ended;
}
