/** TLS for the gRPC port. */
import type { SecureServerOptions } from "node:http2";
import { ServerCredentials } from "@grpc/grpc-js";
import { HANDSHAKE_MS, type TlsSource } from "../tls-source.ts";

/** Credentials of a port, in clear text where there is no source. */
export function serverCredentials(tls: TlsSource | undefined): ServerCredentials {
  return tls === undefined ? ServerCredentials.createInsecure() : new WatchedCredentials(tls);
}

/** Hands on each new context to the servers that use it. grpc-js has no public class for that; a test holds this against the pinned version. */
class WatchedCredentials extends ServerCredentials {
  readonly #tls: TlsSource;
  #stop: (() => void) | undefined;

  constructor(tls: TlsSource) {
    const { requestCert, rejectUnauthorized, context } = tls;
    const options: SecureServerOptions = { requestCert, rejectUnauthorized, handshakeTimeout: HANDSHAKE_MS };
    super(options, context);
    this.#tls = tls;
  }

  override _addWatcher(watcher: Parameters<ServerCredentials["_addWatcher"]>[0]): void {
    super._addWatcher(watcher);
    this.#stop ??= this.#tls.watch((context) => this.updateSecureContextOptions(context));
  }

  override _removeWatcher(watcher: Parameters<ServerCredentials["_removeWatcher"]>[0]): void {
    super._removeWatcher(watcher);
    if (this.getWatcherCount() > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
