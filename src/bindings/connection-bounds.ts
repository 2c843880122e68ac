/** What bounds the connections of a port, whoever is at their other end. */

/** Bounds of each connection, and of all. */
export interface ConnectionBounds {
  /** How long a request may take to come in whole, and a connection to say what it speaks. */
  readonly requestMs: number;
  /** How long a connection of HTTP/2 may be without a stream; 0: for ever. */
  readonly quietConnectionMs: number;
  /** Connections of the port at once. */
  readonly connections: number;
  /** Streams of a connection at once: a gateway has all its callers on a few of them. */
  readonly streamsPerConnection: number;
}

/** Where nobody says otherwise. */
export const CONNECTION_BOUNDS: ConnectionBounds = {
  requestMs: 60_000,
  quietConnectionMs: 600_000,
  connections: 10_000,
  streamsPerConnection: 1000,
};
