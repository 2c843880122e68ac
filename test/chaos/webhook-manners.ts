/** How receivers of webhooks answer, as they should or not. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "./random.ts";

/** A request as it was kept. */
export interface Kept {
  readonly id: string;
  readonly body: string;
  /** What it was answered with; undefined where it had no answer. */
  status: number | undefined;
  readonly at: number;
}

/** One request, and what it is answered with: acknowledged is what the head says, whatever becomes of the rest. */
export class Exchange {
  readonly response: ServerResponse;
  readonly kept: Kept;

  constructor(request: IncomingMessage, body: string, response: ServerResponse) {
    this.response = response;
    this.kept = { id: String(request.headers["webhook-id"]), body, status: undefined, at: Date.now() };
  }

  head(status: number, headers: Record<string, string> = {}): ServerResponse {
    this.kept.status = status;
    return this.response.writeHead(status, headers);
  }
}

/** How a receiver answers, and whether it ever acknowledges. */
interface Manner {
  readonly answers: boolean;
  readonly act: (exchange: Exchange, random: Random, ageMs: number) => void;
}

const LATE_MS = 6000;

const answer =
  (status: number, headers: Record<string, string> = {}) =>
  (exchange: Exchange): void =>
    void exchange.head(status, headers).end();
const cut = ({ response }: Exchange): void => void response.destroy();
const hang = (): void => undefined;
const garbage = ({ response: { socket } }: Exchange): void => void socket?.end("what?\r\n\r\n");

function slowly(exchange: Exchange, random: Random): void {
  setTimeout(() => exchange.head(200).end("ok"), random.between(20, 400));
}

function flaky(exchange: Exchange, random: Random): void {
  const ways = [answer(503), answer(500), answer(429, { "retry-after": "1" }), answer(408), cut, hang, slowly, garbage, half];
  if (random.chance(0.65)) answer(200)(exchange);
  else random.pick(ways)(exchange, random);
}

/** The acknowledgement is cut off behind its head. */
function half(exchange: Exchange): void {
  const response = exchange.head(200, { "content-length": "100" });
  response.write("x");
  setTimeout(() => response.destroy(), 20);
}

function endless(exchange: Exchange): void {
  const response = exchange.head(200);
  const go = (): void => {
    while (response.writable && response.write("z".repeat(16 * 1024)));
    if (response.writable) response.once("drain", go);
  };
  go();
}

/** By name. */
export const MANNERS: Readonly<Record<string, Manner>> = {
  good: { answers: true, act: answer(200) },
  slow: { answers: true, act: slowly },
  flaky: { answers: true, act: flaky },
  late: { answers: true, act: (exchange, _, ageMs) => answer(ageMs < LATE_MS ? 503 : 200)(exchange) },
  "endless body": { answers: true, act: endless },
  failing: { answers: false, act: answer(500) },
  hanging: { answers: false, act: hang },
  closing: { answers: false, act: cut },
  garbage: { answers: false, act: garbage },
  redirecting: { answers: false, act: answer(307, { location: "http://127.0.0.1/" }) },
};
/** Good ones in every second place: what others do to them is what counts. */
export const DECK = ["good", "slow", "good", "flaky", "flaky", "late", "good", "endless body", ...Object.keys(MANNERS)];
