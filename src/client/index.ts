/** The client: `throughline/client`. */
export { A2AClient, type CallOptions, type FollowOptions, type MessageInput, type SendOptions } from "./a2a-client.ts";
export { A2AError, StillRunningError, UnknownOutcomeError } from "./a2a-error.ts";
export type { CardInput } from "./card-source.ts";
export type { ClientBinding, ClientOptions, ClientOptionsInput, ClientTls, CredentialsRequest, Reconnect, Wait } from "./client-options.ts";
export type { Cut } from "./come-back.ts";
export {
  AcceptanceBook,
  type AcceptanceBookInit,
  type AcceptOptions,
  type DecisionOptions,
  type StatementOptions,
} from "./acceptance/acceptance-book.ts";
export { AcceptanceError } from "./acceptance/acceptance-error.ts";
export type { ArtifactContent, FetchedFile } from "./acceptance/artifact-content.ts";
export { type Check, judgedBy, type Verdict } from "./acceptance/check.ts";
export { commandCheck, type CommandCheckOptions } from "./acceptance/command-check.ts";
export type { FileOptions } from "./acceptance/fetch-files.ts";
export { FileRecords } from "./acceptance/file-records.ts";
export type { AcceptanceClient, Subject } from "./acceptance/observation.ts";
export type {
  AcceptanceRecord,
  CheckResult,
  Decision,
  Gap,
  ObservedBy,
  RecordedAgent,
  RecordedContent,
  RecordedFile,
} from "./acceptance/record.ts";
export { type RecordFilter, RecordReader } from "./acceptance/record-reader.ts";
export { type ContextRecords, MemoryRecords, type RecordStore } from "./acceptance/record-store.ts";
export type { Endpoint } from "./interfaces.ts";
export type { PushDelivery } from "./push-delivery.ts";
export type { RunEvent, TaskRun } from "./task-run.ts";
export { type TrustedKeys, verifyCardSignature } from "./verify-card-signature.ts";
export { FileInbox } from "./webhook-receiver/file-inbox.ts";
export { type Inbox, MemoryInbox, type StoredNotification } from "./webhook-receiver/inbox.ts";
export type { NodeRequest, NodeResponse } from "./webhook-receiver/node-handler.ts";
export type { Notification } from "./webhook-receiver/notification.ts";
export type { NotificationJwt } from "./webhook-receiver/notification-jwt.ts";
export type { WebhookReceiverInit, WebhookReceiverOptions } from "./webhook-receiver/receiver-options.ts";
export { reconcile } from "./webhook-receiver/reconcile.ts";
export { webhookReceiver, type WebhookReceiver } from "./webhook-receiver/webhook-receiver.ts";
export * from "../../gen/lf/a2a/v1/a2a_pb.ts";
