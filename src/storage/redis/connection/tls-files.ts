import { readFile } from "node:fs/promises";
import type { DialOptions } from "./dial.ts";
import type { RedisOptions } from "./redis-options.ts";
import { StoreSetupError } from "./store-error.ts";

/** Reads the PEM files that TLS needs; undefined without TLS. Throws StoreSetupError. */
export async function readTlsFiles({ tlsCa, tlsCert, tlsKey }: RedisOptions, tls: boolean): Promise<DialOptions["tls"]> {
  const files = { tlsCa, tlsCert, tlsKey };
  if (!tls) {
    const [given] = Object.entries(files).find(([, file]) => file !== undefined) ?? [];
    if (given !== undefined) throw new StoreSetupError(`redis.${given}: only for a rediss:// URL`);
    return undefined;
  }
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new StoreSetupError("redis.tlsCert: goes together with redis.tlsKey");
  const [ca, cert, key] = await Promise.all(Object.entries(files).map(([option, file]) => read(option, file)));
  return { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
}

async function read(option: string, file: string | undefined): Promise<Buffer | undefined> {
  try {
    return file === undefined ? undefined : await readFile(file);
  } catch (cause) {
    throw new StoreSetupError(`redis.${option}: ${file} cannot be read`, { cause });
  }
}
