/** The one message of a request: out of its envelope, inflated, and judged as every other binding judges it. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { parseBinaryInput } from "../../rpc/binary-input.ts";
import { connectError } from "../../rpc/errors.ts";
import { parseJsonInput } from "../../rpc/json-input.ts";
import { decodeJsonText, parseJsonText } from "../../rpc/json-text.ts";
import type { RequestBounds } from "../../rpc/request-bounds.ts";
import { ENVELOPE_BYTES } from "../envelope.ts";
import { bodyTooLarge, readBody } from "../http-exchange.ts";
import type { HttpRequest } from "../http-message.ts";
import type { Form } from "./form.ts";

/** The one compression that requests may come in. */
const GZIP = "gzip";

const COMPRESSED = 1;

const inflate = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);

/**
 * Reads the bytes of the message; `maxBytes` bounds them as sent and as inflated. Throws MESSAGE_TOO_LARGE, UNSUPPORTED_ENCODING, and
 * INVALID_REQUEST where the body is no single message.
 */
export async function readMessage(request: HttpRequest, form: Form, maxBytes: number, context: HandlerContext): Promise<Buffer> {
  const encoding = encodingOf(request, form, context);
  if (form.last === undefined) {
    const body = await readBody(request, maxBytes);
    return encoding === GZIP ? inflated(body, maxBytes) : body;
  }
  const body = await readBody(request, maxBytes, ENVELOPE_BYTES);
  if (body.length < ENVELOPE_BYTES)
    throw connectError("INVALID_REQUEST", "the body holds no message: it is an envelope of five bytes and the message");
  const [flags] = body;
  const message = body.subarray(ENVELOPE_BYTES);
  if (body.readUInt32BE(1) !== message.length)
    throw connectError("INVALID_REQUEST", "the body is to hold one message, whole, and nothing more");
  if (flags === 0) return message;
  if (flags === COMPRESSED && encoding === GZIP) return inflated(message, maxBytes);
  throw connectError(
    "INVALID_REQUEST",
    flags === COMPRESSED ? "the message is compressed, and no header says how" : "the envelope has flags that are not known",
  );
}

/** Decodes a message. Throws PARSE_ERROR and INVALID_ARGUMENT. */
export function parseMessage(method: DescMethod, form: Form, bytes: Buffer, bounds: RequestBounds): Message {
  if (form.codec === "proto") return parseBinaryInput(method.input, bytes, bounds);
  const text = decodeJsonText(bytes, bounds);
  return parseJsonInput(method.input, text.trim() === "" ? {} : parseJsonText(text), "", { maxDepth: bounds.depth });
}

function encodingOf({ headers }: HttpRequest, { encodingHeader, acceptHeader }: Form, context: HandlerContext): typeof GZIP | undefined {
  const encoding = headers[encodingHeader] ?? "identity";
  if (encoding === "identity") return undefined;
  if (encoding === GZIP) return GZIP;
  context.responseHeader.set(acceptHeader, GZIP);
  throw connectError("UNSUPPORTED_ENCODING", `${encodingHeader} may be ${GZIP} or identity`);
}

async function inflated(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  if (bytes.length === 0) return bytes;
  try {
    return await inflate(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw bodyTooLarge(maxBytes);
    throw connectError("INVALID_REQUEST", "the message is not compressed as its header says", { cause });
  }
}
