/** An nginx in front of a server, set up as one that knows nothing of streams: it buffers, and it is not patient. */
import { Nginx } from "../nginx.ts";
import { freePort } from "../redis/free-port.ts";

/** Where it listens. */
interface Ports {
  /** HTTP/1.1, for HTTP+JSON and JSON-RPC. */
  readonly http: number;
  /** HTTP/2 in clear text before the same, for Connect. */
  readonly http2: number;
  readonly grpc: number;
}

/** How it is set up. */
interface NaiveOptions {
  /** The server's. */
  readonly ports: { readonly http: number; readonly grpc: number };
  /** How long the server may be silent before it is given up. */
  readonly readTimeoutMs: number;
}

/** Starts one; resolves when it listens. Below `/deaf` it holds streams back whatever their server says of that. */
export async function naiveNginx({
  ports: behind,
  readTimeoutMs,
}: NaiveOptions): Promise<{ readonly nginx: Nginx; readonly ports: Ports }> {
  const ports = { http: await freePort(), http2: await freePort(), grpc: await freePort() };
  const pass = `proxy_pass http://127.0.0.1:${behind.http};`;
  const http = `  proxy_read_timeout ${readTimeoutMs}ms; grpc_read_timeout ${readTimeoutMs}ms;
  server {
    listen 127.0.0.1:${ports.http};
    location / { ${pass} }
    location /deaf/ { proxy_pass http://127.0.0.1:${behind.http}/; proxy_ignore_headers X-Accel-Buffering; }
  }
  server { listen 127.0.0.1:${ports.http2} http2; location / { ${pass} } }
  server { listen 127.0.0.1:${ports.grpc} http2; location / { grpc_pass grpc://127.0.0.1:${behind.grpc}; } }`;
  return { nginx: await Nginx.open({ http, ports: Object.values(ports) }), ports };
}
