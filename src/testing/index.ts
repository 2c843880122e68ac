// For authors of stores: the contract that every store passes.
export { storageContract } from "./contract/storage-contract.ts";
export type { ContractOptions, OpenedStore, OpenStore } from "./contract/lab.ts";
