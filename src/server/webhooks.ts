/** Webhooks of a server: judged, stored, delivered to. */
import { readFileSync } from "node:fs";
import type { StoredPushConfig } from "../core/push-configs.ts";
import type { Snapshots } from "../core/snapshots.ts";
import type { Storage } from "../core/storage.ts";
import type { Log, Measures } from "../core/telemetry.ts";
import type { Tracing } from "../core/tracing.ts";
import { TaskError } from "../core/errors.ts";
import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Webhooks } from "../service/webhooks.ts";
import { Deliveries } from "../worker/deliveries.ts";
import { PageRoom } from "../worker/page-room.ts";
import { PushSecrets } from "../worker/push-secrets.ts";
import { WebhookGuard } from "../worker/webhook-guard/webhook-guard.ts";
import { WebhookPoster } from "../worker/webhook-poster.ts";
import type { SignNotification } from "../worker/webhook-request.ts";
import { OptionsError, type ServerOptions } from "./options.ts";

/** How long a connection to a webhook may take, of the time that it has. */
const CONNECT_SHARE = 0.5;

/** What deliveries read and write. */
interface Stores {
  readonly storage: Storage;
  readonly snapshots: Snapshots;
  readonly log: Log;
  readonly measures: Measures;
  readonly tracing: Tracing;
  /** Signs notifications; undefined where none is signed. */
  readonly sign: SignNotification | undefined;
}

/** The webhooks of one server. Throws {@link OptionsError} where an option cannot be used. */
export class ServerWebhooks implements Webhooks {
  readonly #guard: WebhookGuard;
  readonly #secrets: PushSecrets;
  readonly #options: ServerOptions;
  #deliveries: Deliveries | undefined;
  #poster: WebhookPoster | undefined;

  constructor(options: ServerOptions) {
    const { ca, timeoutMs, keys, ...policy } = options.push;
    this.#options = options;
    this.#secrets = new PushSecrets(keys.map((key) => Buffer.from(key, "base64")));
    try {
      const connectTimeoutMs = Math.ceil(timeoutMs * CONNECT_SHARE);
      this.#guard = new WebhookGuard({ ...policy, ca: ca === undefined ? undefined : pem(ca), connectTimeoutMs });
    } catch (cause) {
      if (cause instanceof OptionsError) throw cause;
      throw new OptionsError(`push.allow: ${(cause as Error).message}`, { cause });
    }
  }

  problemOf(url: string): string | undefined {
    return this.#guard.problemOf(url);
  }

  encode(taskId: string, config: TaskPushNotificationConfig): StoredPushConfig {
    return this.#secrets.encode(taskId, config);
  }

  decode(taskId: string, config: StoredPushConfig): TaskPushNotificationConfig {
    try {
      return this.#secrets.decode(taskId, config);
    } catch (cause) {
      const metadata = { taskId, configId: config.id };
      throw new TaskError("INTERNAL", "the push configuration cannot be decrypted: delete it, or create it anew", { metadata, cause });
    }
  }

  /** Begins to deliver, where webhooks are taken. */
  start(stores: Stores): void {
    const { push, replica, sweepMs, renewMs, leaseMs } = this.#options;
    if (!push.enabled) return;
    this.#poster = new WebhookPoster({ ...push, connect: this.#guard.connect });
    const decode = this.decode.bind(this);
    const context = { ...stores, poster: this.#poster, options: push, room: new PageRoom(push.bufferBytes), decode };
    this.#deliveries = new Deliveries(context, { replica, sweepMs, renewMs, leaseMs });
    this.#deliveries.start();
  }

  /** Leaves what is to be delivered to other replicas. Idempotent. */
  async drain(): Promise<void> {
    await this.#deliveries?.drain();
    await this.#poster?.close();
  }
}

function pem(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new OptionsError(`push.ca: cannot read ${file}`, { cause });
  }
}
