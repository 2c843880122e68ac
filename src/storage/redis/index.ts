// The store that replicas share.
export { RedisStorage, type RedisStorageFacts } from "./redis-storage.ts";
export type { RedisStorageInit, RedisStorageOptions } from "./storage-options.ts";
export type { RedisOptions } from "./connection/redis-options.ts";
export { StoreSetupError } from "./connection/store-error.ts";
