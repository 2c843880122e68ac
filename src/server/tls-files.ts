/** The certificate, key and authorities of the ports, read from files again when those change. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { TlsSource } from "../bindings/tls-source.ts";
import type { Log } from "../core/telemetry.ts";
import { OptionsError } from "./options.ts";
import type { TlsOptions } from "./tls-options.ts";

/** TLS 1.3 as it is, and of TLS 1.2 what has forward secrecy and authenticated encryption. */
const CIPHERS = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

type Listener = (context: SecureContextOptions) => void;

/** What the files hold. */
interface Pem {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer | undefined;
}

/**
 * Looks at the files every `reloadMs`. What has changed is used for connections that begin from then on; those that are open stay as they
 * are. Files that do not fit together are left until they do: they are seldom changed at one instant.
 */
export class TlsFiles implements TlsSource {
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
  readonly #options: TlsOptions;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();
  #pem: Pem;
  #context: SecureContextOptions;
  /** The last files that could not be used, so that they are told of once. */
  #refused: Pem | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Reads the files; undefined where the options name none. Throws {@link OptionsError} where they cannot be used. */
  static async open(options: TlsOptions, log: Log): Promise<TlsFiles | undefined> {
    if (options.cert === undefined) return undefined;
    const pem = await read(options);
    return new TlsFiles(options, log, pem, contextOf(pem, options));
  }

  private constructor(options: TlsOptions, log: Log, pem: Pem, context: SecureContextOptions) {
    this.requestCert = options.clientCa !== undefined;
    this.rejectUnauthorized = this.requestCert && options.clientAuth === "require";
    this.#options = options;
    this.#log = log;
    this.#pem = pem;
    this.#context = context;
  }

  get context(): SecureContextOptions {
    return this.#context;
  }

  /** Looks while somebody wants to know. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#timer === undefined) this.#wait();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  #wait(): void {
    this.#timer = setTimeout(() => void this.#look(), this.#options.reloadMs).unref();
  }

  async #look(): Promise<void> {
    let pem: Pem | undefined;
    try {
      pem = await read(this.#options);
      if (!isSame(pem, this.#pem)) this.#use(pem, contextOf(pem, this.#options));
      this.#refused = undefined;
    } catch (error) {
      const told = this.#refused !== undefined && (pem === undefined || isSame(pem, this.#refused));
      if (!told) this.#log.warn({ error }, "the files of TLS have changed and cannot be used; what was there before goes on");
      this.#refused = pem ?? this.#pem;
    }
    if (this.#timer !== undefined) this.#wait();
  }

  #use(pem: Pem, context: SecureContextOptions): void {
    this.#pem = pem;
    this.#context = context;
    for (const listener of this.#listeners) listener(context);
    this.#log.info({ validTo: new X509Certificate(pem.cert).validTo }, "new connections have the certificate that is in the files now");
  }
}

async function read({ cert = "", key = "", clientCa }: TlsOptions): Promise<Pem> {
  const [certPem, keyPem, caPem] = await Promise.all([
    readPem("cert", cert),
    readPem("key", key),
    clientCa === undefined ? undefined : readPem("clientCa", clientCa),
  ]);
  return { cert: certPem, key: keyPem, clientCa: caPem };
}

async function readPem(option: string, file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new OptionsError(`tls.${option}: cannot read ${file}`, { cause });
  });
}

/** The context of these files. Throws {@link OptionsError} where they cannot be one. */
function contextOf({ cert, key, clientCa }: Pem, options: TlsOptions): SecureContextOptions {
  const context: SecureContextOptions = {
    cert,
    key,
    minVersion: options.minVersion,
    ciphers: CIPHERS,
    ...(clientCa !== undefined && { ca: clientCa }),
  };
  const certificate = checkCertificate("cert", cert, options.cert);
  if (clientCa !== undefined) checkCertificate("clientCa", clientCa, options.clientCa);
  try {
    createSecureContext(context);
    // That one takes a key of another kind than the certificate's, and every handshake fails then.
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error("their public keys differ");
  } catch (cause) {
    throw new OptionsError(`tls.key: ${options.key} is not the key of the certificate in ${options.cert}`, { cause });
  }
  return context;
}

function checkCertificate(option: string, pem: Buffer, file: string | undefined): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new OptionsError(`tls.${option}: ${file} holds no certificate in PEM`, { cause });
  }
}

function isSame(one: Pem, other: Pem): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key) && (one.clientCa?.equals(other.clientCa ?? Buffer.alloc(0)) ?? true);
}
