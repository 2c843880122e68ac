/** The comments of a schema file, for the readers of documents that are made from it. */
import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import type { DescriptorProto, EnumDescriptorProto, FileDescriptorProto } from "@bufbuild/protobuf/wkt";

/** What can have a comment. */
type Commented = DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnumValue;

/** Answers the comment of a descriptor, in one line, fields named as in JSON; empty where it has none. */
export type Comments = (desc: Commented) => string;

/** Reads the comments of a file that was compiled with its source info. */
export function commentsOf(file: FileDescriptorProto): Comments {
  const names = new Map(namesIn(file));
  const texts = new Map<string, string>();
  for (const { path, leadingComments } of file.sourceCodeInfo?.location ?? []) {
    const name = names.get(path.join("."));
    if (name !== undefined && leadingComments !== "") texts.set(name, prose(leadingComments));
  }
  return (desc) => texts.get(fullName(desc)) ?? "";
}

function prose(comment: string): string {
  return comment
    .trim()
    .replace(/\s+/g, " ")
    .replace(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => protoCamelCase(name));
}

function fullName(desc: Commented): string {
  switch (desc.kind) {
    case "rpc":
    case "field":
    case "enum_value":
      return `${desc.parent.typeName}.${desc.name}`;
    default:
      return desc.typeName;
  }
}

/** Field numbers of descriptor.proto: a path of source info is made of these and of indices. */
const FILE = { message: 4, enum: 5, service: 6 };
const MESSAGE = { field: 2, nested: 3, enum: 4 };
const ENUM_VALUE = 2;
const METHOD = 2;

const at = (...path: number[]): string => path.join(".");

/** Paths of source info with the full names of what they lead to. An enum's values are named within it. */
function* namesIn(file: FileDescriptorProto): IterableIterator<[path: string, name: string]> {
  for (const [index, message] of file.messageType.entries()) yield* namesInMessage(message, file.package, at(FILE.message, index));
  for (const [index, one] of file.enumType.entries()) yield* namesInEnum(one, file.package, at(FILE.enum, index));
  for (const [index, { name, method }] of file.service.entries()) {
    yield [at(FILE.service, index), `${file.package}.${name}`];
    for (const [which, one] of method.entries()) yield [at(FILE.service, index, METHOD, which), `${file.package}.${name}.${one.name}`];
  }
}

function* namesInMessage(message: DescriptorProto, scope: string, path: string): IterableIterator<[string, string]> {
  const name = `${scope}.${message.name}`;
  yield [path, name];
  for (const [index, field] of message.field.entries()) yield [`${path}.${MESSAGE.field}.${index}`, `${name}.${field.name}`];
  for (const [index, one] of message.nestedType.entries()) yield* namesInMessage(one, name, `${path}.${MESSAGE.nested}.${index}`);
  for (const [index, one] of message.enumType.entries()) yield* namesInEnum(one, name, `${path}.${MESSAGE.enum}.${index}`);
}

function* namesInEnum({ name, value }: EnumDescriptorProto, scope: string, path: string): IterableIterator<[string, string]> {
  yield [path, `${scope}.${name}`];
  for (const [index, one] of value.entries()) yield [`${path}.${ENUM_VALUE}.${index}`, `${scope}.${name}.${one.name}`];
}
