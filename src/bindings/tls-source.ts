/** TLS of a port, for whoever accepts its connections. */
import type { SecureContextOptions } from "node:tls";

/** What connections begin with; certificates may change while a port is open. */
export interface TlsSource {
  /** Whether clients are asked for a certificate, and turned away without a trusted one. */
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
  /** What a connection that begins now is to use. */
  readonly context: SecureContextOptions;
  /** Tells of each new context. Answers how to stop. */
  watch(listener: (context: SecureContextOptions) => void): () => void;
}

/** How long a client may take until TLS stands. */
export const HANDSHAKE_MS = 20_000;
