// What users need: an agent, and a server for it.
export type { AbortCause, Agent, AgentCardInit, BeginTask, Caller, CanceledTask, CardReader, ReplyRequest, Turn } from "./core/agent.ts";
export { TurnAborted } from "./core/agent.ts";
export type { AgentEvent, ChunkOptions, PartInit, StatusText } from "./core/events.ts";
export {
  artifact,
  authRequired,
  bytesPart,
  canceled,
  completed,
  dataPart,
  failed,
  inputRequired,
  memo,
  rejected,
  status,
  textPart,
  urlPart,
  working,
} from "./core/events.ts";
export { type DrainOptions, type RunningServer, serve, type ServeInit, type ServerState } from "./server/serve.ts";
export { OptionsError, type ServerOptions, type ServerOptionsInput } from "./server/options.ts";
export type {
  Authenticate,
  Authorize,
  CallOrigin,
  Challenge,
  Denial,
  OwnerOf,
  PeerCertificate,
  Principal,
} from "./rpc/auth/authenticate.ts";
export { anonymous } from "./rpc/auth/anonymous.ts";
export { bearerTokens, type TokenMap } from "./rpc/auth/bearer-tokens.ts";
export * from "../gen/lf/a2a/v1/a2a_pb.ts";

// What extenders need: ways to authenticate of their own, the port of the store, and the fold that every reader shares.
export { anyOf, type AuthScheme, type Judgement, type Refusal, type SchemeDeclaration } from "./rpc/auth/auth-scheme.ts";
export type * from "./core/storage.ts";
export { Entry, type EntryKind, formatPosition, type NewEntry, parsePosition, type Position } from "./core/log-entry.ts";
export { type Applied, apply, type ArtifactNote, isAtRest, isInterrupted, isTerminal } from "./core/task.ts";
export { type Reason, RefusedError, TaskError, type Violation } from "./core/errors.ts";
export type { Backlog, Log, Measures } from "./core/telemetry.ts";
export { MemoryStorage, type MemoryStorageOptions } from "./storage/memory/memory-storage.ts";
