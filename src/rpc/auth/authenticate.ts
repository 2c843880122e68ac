/** The seams for who may call: a call in, a principal or a challenge out; then whether that principal may do what it asks. */
import type { X509Certificate } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";

/** Who a caller is. */
export interface Principal {
  /** Unique among the principals of one server; owner of the tasks that the caller sends, unless the server is told otherwise. */
  readonly name: string;
  /** What it may do, in the words of whoever vouches for it. Default: nothing that wants a scope. */
  readonly scopes?: readonly string[] | undefined;
  /** Tenants that it may name; where that is one, calls need not name it. Default: all of the server. */
  readonly tenants?: readonly string[] | undefined;
  /** What else is known of it, for the agent. It is stored with the task. Default: nothing. */
  readonly claims?: JsonObject;
  /**
   * Nobody has vouched for it: whoever makes up a name is another one. Its calls count as those of the address that they come from. Default
   * false.
   */
  readonly unproven?: boolean;
}

/** Why a call was turned away, and what it should bring. */
export interface Challenge {
  /** Values of `WWW-Authenticate`, one for each way to authenticate. */
  readonly challenge: string | readonly string[];
  /** What a person reads. Never the credentials. */
  readonly message: string;
}

/** A certificate that the peer of a connection has shown. */
export interface PeerCertificate {
  readonly x509: X509Certificate;
  /** Whether an authority vouches for it that the server trusts for its callers. */
  readonly trusted: boolean;
}

/** Where a call came from, beside its headers. */
export interface CallOrigin {
  /** Target of the request with its query; on gRPC the path of the method. */
  readonly url: string;
  /** Undefined without TLS, and where the peer has shown none. */
  readonly certificate: PeerCertificate | undefined;
}

/** Judges who calls, before anything else of a call is read. Throws only when it cannot judge. */
export type Authenticate = (headers: Headers, origin: CallOrigin) => Promise<Principal | Challenge> | Principal | Challenge;

/** Why a principal may not do what it asks. */
export interface Denial {
  /** What a person reads: what is missing, nothing of what is there. */
  readonly message: string;
  /** The scopes that it would need. Default: none would do. */
  readonly scopes?: readonly string[];
  /** Value of `WWW-Authenticate`. Default: none. */
  readonly challenge?: string;
}

/** Judges whether a principal may call an operation, by the name of its RPC (`SendMessage`), before the request is read. */
export type Authorize = (principal: Principal, operation: string) => Denial | undefined | Promise<Denial | undefined>;

/** Answers whose a principal's tasks are, within the tenant that the call names: who has the same owner sees the same tasks. */
export type OwnerOf = (principal: Principal, tenant: string) => string;

/** A caller owns its tasks alone: the default. */
export const ownedByName: OwnerOf = ({ name }) => name;
