/** The client: `throughline/client`. */
export { A2AClient, type CallOptions, type FollowOptions, type MessageInput, type SendOptions } from "./a2a-client.ts";
export { A2AError, StillRunningError, UnknownOutcomeError } from "./a2a-error.ts";
export type { CardInput } from "./card-source.ts";
export type { ClientBinding, ClientOptions, ClientOptionsInput, ClientTls, CredentialsRequest, Reconnect, Wait } from "./client-options.ts";
export type { Cut } from "./come-back.ts";
export type { Endpoint } from "./interfaces.ts";
export type { RunEvent, TaskRun } from "./task-run.ts";
export * from "../../gen/lf/a2a/v1/a2a_pb.ts";
