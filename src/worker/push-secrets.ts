/** Configurations of webhooks as they are stored: as they are, or sealed where there is a key. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type TaskPushNotificationConfig, TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { StoredPushConfig } from "../core/push-configs.ts";

/** No protobuf message begins with it. */
const SEALED = 0;
const NAME_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
interface Key {
  /** The beginning of its digest: tells which key has sealed. */
  readonly name: Buffer;
  readonly key: Buffer;
}

/** Writes and reads stored configurations. What was stored before there was a key is read as it is. */
export class PushSecrets {
  readonly #keys: readonly Key[];

  /** `keys`: of 32 bytes (AES-256); the first seals, all of them open, so that keys can be rotated. None: nothing is sealed. */
  constructor(keys: readonly Buffer[] = []) {
    this.#keys = keys.map((key) => ({ key, name: createHash("sha256").update(key).digest().subarray(0, NAME_BYTES) }));
  }

  /** A configuration as it is stored; sealed to its task and id, so that nobody moves it elsewhere. */
  encode(taskId: string, config: TaskPushNotificationConfig): StoredPushConfig {
    const { id } = config;
    const plain = toBinary(TaskPushNotificationConfigSchema, config);
    const [first] = this.#keys;
    if (first === undefined) return { id, bytes: plain };
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", first.key, iv).setAAD(placeOf(taskId, id));
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    return { id, bytes: Buffer.concat([Buffer.of(SEALED), first.name, iv, cipher.getAuthTag(), sealed]) };
  }

  /** Reads it. Throws where no key opens it, or where it was changed. */
  decode(taskId: string, { id, bytes }: StoredPushConfig): TaskPushNotificationConfig {
    return fromBinary(TaskPushNotificationConfigSchema, bytes[0] === SEALED ? this.#open(placeOf(taskId, id), Buffer.from(bytes)) : bytes);
  }

  #open(place: Buffer, bytes: Buffer): Uint8Array {
    let at = 1;
    const take = (count: number): Buffer => bytes.subarray(at, (at += count));
    const [name, iv, tag] = [take(NAME_BYTES), take(IV_BYTES), take(TAG_BYTES)];
    const key = this.#keys.find((one) => one.name.equals(name));
    if (key === undefined) throw new Error("a push configuration was sealed with a key that is not configured");
    const decipher = createDecipheriv("aes-256-gcm", key.key, iv, { authTagLength: TAG_BYTES }).setAAD(place).setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(at)), decipher.final()]);
  }
}

function placeOf(taskId: string, id: string): Buffer {
  return Buffer.from(JSON.stringify([taskId, id]));
}
