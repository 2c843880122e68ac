// For authors of stores: the contract that every store passes.
export { storageContract } from "./contract/storage-contract.ts";
export type { ContractOptions, OpenedStore, OpenStore } from "./contract/lab.ts";
// For authors of agents: an agent at work in the test's own process.
export { LeaseBook } from "./lease-book.ts";
export { AgentHarness, type CallInit, type HarnessOptions, type MessageText, TaskHandle, testAgent } from "./agent-harness.ts";
// For whole-system tests: what must hold of every run.
export { checkPromises, type FollowerRecord, type PromiseOptions, type SeenFrame, type TaskRecord } from "./promises.ts";
