/** A headless Chromium, and pages in it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { type Browser, launch, type Page } from "puppeteer-core";
import { findChromium } from "./find-chromium.ts";
import type { Calls } from "./page.ts";

const LAUNCH_MS = 120_000;

/** Starts Chromium. A sandbox of its own would need rights that containers and root do not have. */
export async function openBrowser(): Promise<Browser> {
  return launch({
    executablePath: findChromium(),
    headless: true,
    pipe: true,
    timeout: LAUNCH_MS,
    protocolTimeout: LAUNCH_MS,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}

/** A page with the script of page.ts, served from an origin of its own. */
export class ClientPage implements AsyncDisposable {
  readonly origin: string;
  readonly #page: Page;
  readonly #close: () => Promise<void>;

  private constructor(origin: string, page: Page, close: () => Promise<void>) {
    this.origin = origin;
    this.#page = page;
    this.#close = close;
  }

  static async open(browser: Browser): Promise<ClientPage> {
    const script = await bundle();
    const server = createServer((request, response) => {
      const page = request.url === "/";
      response.writeHead(page ? 200 : 404, { "content-type": "text/html" }).end(page ? `<!doctype html><script>${script}</script>` : "");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const page = await browser.newPage();
    await page.goto(origin);
    return new ClientPage(origin, page, async () => {
      await page.close();
      server.closeAllConnections();
      server.close();
    });
  }

  /** Calls a function of the page. */
  call<K extends keyof Calls>(name: K, ...args: Parameters<Calls[K]>): ReturnType<Calls[K]> {
    const run = (called: string, given: unknown[]): unknown => {
      const offered = globalThis as unknown as Record<string, (...all: unknown[]) => unknown>;
      return offered[called]?.(...given);
    };
    return this.#page.evaluate(run, name, args) as ReturnType<Calls[K]>;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

let bundled: Promise<string> | undefined;

/** The script of page.ts with all that it imports. */
function bundle(): Promise<string> {
  bundled ??= build({
    entryPoints: [fileURLToPath(new URL("page.ts", import.meta.url))],
    bundle: true,
    format: "iife",
    platform: "browser",
    target: "es2022",
    write: false,
  }).then(async ({ outputFiles: [file] }) => {
    await stop();
    return file?.text ?? "";
  });
  return bundled;
}
