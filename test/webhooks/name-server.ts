/** A name server that says what a test wants: a real one, asked over UDP. */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import ipaddr from "ipaddr.js";

const A = 1;
const CNAME = 5;
const AAAA = 28;
const NO_SUCH_NAME = 3;
const HEADER_BYTES = 12;

/** Where a name leads: addresses of both families. `alias` says so by way of another name. */
export interface Answer {
  readonly addresses: readonly string[];
  readonly alias?: string;
}

/** Answers questions for A and AAAA records, with nothing to be kept. */
export class NameServer implements AsyncDisposable {
  readonly #socket: Socket;
  /** Answers by name; one that is a function is asked each time. A name that is not there does not exist. */
  readonly names = new Map<string, Answer | (() => Answer)>();
  /** Names that were asked for, once per question. */
  readonly asked: string[] = [];
  /** Names that are never answered. */
  readonly silent = new Set<string>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("message", (question, { port, address }) => {
      const answer = this.#answer(question);
      if (answer !== undefined) socket.send(answer, port, address);
    });
  }

  static async open(): Promise<NameServer> {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    return new NameServer(socket);
  }

  /** As the option `push.dnsServers` takes it. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  /** Makes a name lead to addresses. */
  set(name: string, ...addresses: readonly string[]): void {
    this.names.set(name, { addresses });
  }

  #answer(question: Buffer): Buffer | undefined {
    const { name, end } = readName(question);
    const type = question.readUInt16BE(end);
    const section = question.subarray(HEADER_BYTES, end + 4);
    this.asked.push(name);
    if (this.silent.has(name)) return undefined;
    const known = this.names.get(name);
    const { addresses = [], alias } = (typeof known === "function" ? known() : known) ?? {};
    const fitting = addresses.map(bytesOf).filter(({ length }) => length === (type === A ? 4 : 16));
    const owner = alias ?? name;
    const records = [
      ...(alias === undefined ? [] : [record(name, CNAME, written(alias))]),
      ...(type === A || type === AAAA ? fitting.map((bytes) => record(owner, type, bytes)) : []),
    ];
    const header = Buffer.alloc(HEADER_BYTES);
    question.copy(header, 0, 0, 2);
    // An answer, with recursion, whose last four bits say whether there is such a name.
    header.writeUInt16BE(0x8180 | (known === undefined ? NO_SUCH_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    return Buffer.concat([header, section, ...records]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await once(this.#socket, "close");
  }
}

function bytesOf(address: string): Buffer {
  // As URLs write it: `::10.0.0.1` is no mapped address, though ipaddr.js reads it as one.
  const plain = address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
  return Buffer.from(ipaddr.parse(plain).toByteArray());
}

function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

function written(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([written(name), fixed, data]);
}
