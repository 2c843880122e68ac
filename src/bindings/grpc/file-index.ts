/** The schema files behind a server's services, as callers of reflection ask for them. */
import { type DescEnum, type DescExtension, type DescFile, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** Files and all that they need, by name and by what they declare. */
export class FileIndex {
  readonly #byName = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();
  readonly #types = new Set<string>();
  /** Files by extended type and number. */
  readonly #extensions = new Map<string, Map<number, DescFile>>();

  constructor(files: readonly DescFile[]) {
    for (const file of files) this.#add(file);
  }

  named(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** The file that declares a message, field, oneof, enum, enum value, service, method or extension, by its full name. */
  declaring(symbol: string): DescFile | undefined {
    return this.#bySymbol.get(symbol);
  }

  extending(typeName: string, number: number): DescFile | undefined {
    return this.#extensions.get(typeName)?.get(number);
  }

  /** Numbers of the known extensions of a type; undefined where there is no such type. */
  extensionNumbers(typeName: string): readonly number[] | undefined {
    const known = this.#extensions.get(typeName);
    return known === undefined ? (this.#types.has(typeName) ? [] : undefined) : [...known.keys()];
  }

  #add(file: DescFile): void {
    const name = file.proto.name;
    if (this.#byName.has(name)) return;
    this.#byName.set(name, file);
    const declare = (...symbols: string[]): void => symbols.forEach((symbol) => this.#bySymbol.set(symbol, file));
    for (const message of file.messages.flatMap(within)) {
      this.#types.add(message.typeName);
      declare(message.typeName, ...[...message.fields, ...message.oneofs].map((member) => `${message.typeName}.${member.name}`));
      for (const one of message.nestedEnums) declare(...enumNames(one));
      for (const one of message.nestedExtensions) this.#extend(one, declare);
    }
    for (const one of file.enums) declare(...enumNames(one));
    for (const one of file.extensions) this.#extend(one, declare);
    for (const { typeName, methods } of file.services) declare(typeName, ...methods.map((method) => `${typeName}.${method.name}`));
    for (const needed of file.dependencies) this.#add(needed);
  }

  #extend({ typeName, extendee, number, file }: DescExtension, declare: (symbol: string) => void): void {
    declare(typeName);
    const known = this.#extensions.get(extendee.typeName) ?? new Map<number, DescFile>();
    this.#extensions.set(extendee.typeName, known.set(number, file));
  }
}

/** A file and all that it needs, each once, itself first. */
export function closureOf(file: DescFile): readonly DescFile[] {
  const found = new Set([file]);
  for (const one of found) for (const needed of one.dependencies) found.add(needed);
  return [...found];
}

/** The file as it travels: a FileDescriptorProto, options included. */
export function fileBytes(file: DescFile): Uint8Array {
  const known = encoded.get(file);
  if (known !== undefined) return known;
  const bytes = toBinary(FileDescriptorProtoSchema, file.proto);
  encoded.set(file, bytes);
  return bytes;
}

const encoded = new WeakMap<DescFile, Uint8Array>();

function within(message: DescMessage): DescMessage[] {
  return [message, ...message.nestedMessages.flatMap(within)];
}

/** An enum's values are siblings of the enum, as in C++. */
function enumNames({ typeName, values }: DescEnum): string[] {
  const scope = typeName.slice(0, typeName.lastIndexOf(".") + 1);
  return [typeName, ...values.map(({ name }) => scope + name)];
}
