/** What gRPC's connections are made with: TLS or none, and a bound on how long a server may be silent at their beginning. */
import { isIP, type Socket } from "node:net";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import type { ResolvedOptions, TransportOptions } from "../transport.ts";

/** Credentials for one channel. */
export function channelCredentials(
  plaintext: boolean,
  { tls = {}, connectTimeoutMs }: ResolvedOptions<TransportOptions>,
): ChannelCredentials {
  const made = plaintext ? credentials.createInsecure() : credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert));
  return impatient(made, connectTimeoutMs);
}

function pem(text: string | Buffer | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}

/**
 * Closes connections that were accepted and on which the server has said nothing of HTTP/2, or not finished with TLS, `timeoutMs` later.
 * grpc-js would wait on such a connection for ever, and every call with it. It has no option for that, and this is where it shows its
 * sockets; a test holds this against the pinned version.
 */
function impatient(inner: ChannelCredentials, timeoutMs: number): ChannelCredentials {
  const create = inner._createSecureConnector.bind(inner);
  inner._createSecureConnector = (...args) => {
    const connector = create(...args);
    nameByAddress(connector);
    const connect = connector.connect.bind(connector);
    connector.connect = async (socket) => {
      let secured: Socket | undefined;
      const closed = Promise.withResolvers<never>();
      closed.promise.catch(() => undefined);
      const timer = setTimeout(() => {
        if ((secured?.bytesRead ?? 0) === 0) socket.destroy();
      }, timeoutMs).unref();
      socket.once("close", () => {
        clearTimeout(timer);
        // grpc-js does not notice where this happens before TLS stands.
        closed.reject(new Error("the connection was closed"));
      });
      const result = await Promise.race([connect(socket), closed.promise]);
      secured = result.socket;
      return result;
    };
    return connector;
  };
  return inner;
}

/**
 * An address is no name that TLS could send (RFC 6066, 3); Node warns of it, and grpc-js has it in the place of one. The certificate is held
 * against it all the same.
 */
function nameByAddress(connector: object): void {
  const { connectionOptions = {} } = connector as { connectionOptions?: { servername?: string; host?: string } };
  const { servername = "" } = connectionOptions;
  if (isIP(servername) !== 0) Object.assign(connectionOptions, { host: servername, servername: "" });
}
