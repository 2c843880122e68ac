/** gRPC reflection, v1 and v1alpha: clients without a schema ask for it. It is open to everybody, as the schema is. */
import { create, type DescFile, type DescService, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Server, ServerDuplexStream } from "@grpc/grpc-js";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.ts";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { connectError } from "../../rpc/errors.ts";
import { asBuffer } from "../envelope.ts";
import { decode, statusOf } from "./call.ts";
import { definitionOf } from "./definition.ts";
import { closureOf, fileBytes, FileIndex } from "./file-index.ts";

/** What a request is answered with. */
type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;
type ReflectionCall = ServerDuplexStream<Buffer, Buffer>;

/** Default of how many streams may be open at once: each costs memory, and nobody has to say who they are. */
const MAX_STREAMS = 1000;

/** Answers what is asked about the services of a server. */
export class Reflection {
  readonly #names: readonly string[];
  readonly #index: FileIndex;
  readonly #maxStreams: number;
  readonly #calls = new Set<ReflectionCall>();
  #draining = false;

  /** `services` are those of the server but for reflection itself, which is added. */
  constructor(services: readonly DescService[], maxStreams: number = MAX_STREAMS) {
    this.#maxStreams = maxStreams;
    const all = [...services, ServerReflection, ServerReflectionAlpha];
    this.#names = all.map(({ typeName }) => typeName).toSorted();
    // No method names the details of errors, and callers want to read them.
    this.#index = new FileIndex([...all.map(({ file }) => file), file_google_rpc_error_details]);
  }

  /** Adds the services to a server that is not yet bound. */
  addTo(server: Server): void {
    const ServerReflectionInfo = (call: ReflectionCall): void => this.#converse(call);
    // The two versions differ in the name of their package only.
    for (const desc of [ServerReflection, ServerReflectionAlpha]) server.addService(definitionOf(desc), { ServerReflectionInfo });
  }

  /** Ends the open streams and those that come later: clients keep them for their next question. */
  drain(): void {
    this.#draining = true;
    for (const call of this.#calls) end(call);
  }

  #converse(call: ReflectionCall): void {
    this.#calls.add(call);
    // Told at every end of a call, whoever ended it.
    call.once("cancelled", () => this.#calls.delete(call));
    const sent = new Set<DescFile>();
    call.on("data", (bytes: Buffer) => {
      if (call.writableEnded) return;
      // One question at a time: answers are not piled up for who does not read them.
      call.pause();
      try {
        call.write(this.#reply(bytes, sent), () => call.resume());
      } catch (error) {
        call.emit("error", statusOf(error));
      }
    });
    call.once("end", () => call.end());
    if (this.#draining) end(call);
    if (this.#calls.size > this.#maxStreams) call.emit("error", statusOf(connectError("RESOURCE_EXHAUSTED", "too many ask already")));
  }

  #reply(bytes: Buffer, sent: Set<DescFile>): Buffer {
    const request = decode(ServerReflection.method.serverReflectionInfo, bytes) as ServerReflectionRequest;
    const messageResponse = this.#answer(request, sent);
    const reply = create(ServerReflectionResponseSchema, { validHost: request.host, originalRequest: request, messageResponse });
    return asBuffer(toBinary(ServerReflectionResponseSchema, reply));
  }

  #answer({ messageRequest: asked }: ServerReflectionRequest, sent: Set<DescFile>): Answer {
    switch (asked.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: this.#names.map((name) => ({ name })) } };
      case "fileByFilename":
        return files(this.#index.named(asked.value), sent) ?? refusal(Code.NotFound, "there is no such file");
      case "fileContainingSymbol":
        return files(this.#index.declaring(asked.value), sent) ?? refusal(Code.NotFound, "there is no such symbol");
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = asked.value;
        const file = this.#index.extending(containingType, extensionNumber);
        return files(file, sent) ?? refusal(Code.NotFound, "there is no such extension");
      }
      case "allExtensionNumbersOfType": {
        const extensionNumber = this.#index.extensionNumbers(asked.value);
        if (extensionNumber === undefined) return refusal(Code.NotFound, "there is no such type");
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: asked.value, extensionNumber: [...extensionNumber] } };
      }
      default:
        return refusal(Code.InvalidArgument, "the request asks for nothing");
    }
  }
}

/** The file, and what it needs as far as this stream has not had it. */
function files(file: DescFile | undefined, sent: Set<DescFile>): Answer | undefined {
  if (file === undefined) return undefined;
  const fresh = closureOf(file).filter((one) => one === file || !sent.has(one));
  for (const one of fresh) sent.add(one);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: fresh.map(fileBytes) } };
}

/** An error of this question alone; the stream goes on. */
function refusal(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

function end(call: ReflectionCall): void {
  if (!call.cancelled && !call.writableEnded)
    call.emit("error", statusOf(connectError("SERVER_DRAINING", "this replica is going away: ask another one")));
}
