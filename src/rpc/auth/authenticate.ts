/** The seam for authentication: request headers in, a principal or a challenge out. */

/** Who a caller is. */
export interface Principal {
  /** Owner of the tasks that the caller sends; unique among the principals of one server. */
  readonly name: string;
}

/** Why a call was turned away, and what it should bring. */
export interface Challenge {
  /** Value of `WWW-Authenticate`. */
  readonly challenge: string;
  /** What a person reads. Never the credentials. */
  readonly message: string;
}

/** Judges a call by its headers, before anything else of it is read. Throws only when it cannot judge. */
export type Authenticate = (headers: Headers) => Promise<Principal | Challenge> | Principal | Challenge;
