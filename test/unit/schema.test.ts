import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { type DescField, type DescMessage, type DescMethod, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { method_signature } from "../../gen/google/api/client_pb.ts";
import { field_behavior, FieldBehavior } from "../../gen/google/api/field_behavior_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { file_lf_a2a_v1_a2a as file } from "../../gen/lf/a2a/v1/a2a_pb.ts";

interface Facts {
  readonly package: string;
  readonly syntax: string;
  readonly imports: readonly string[];
  readonly fileOptions: Readonly<Record<string, string | boolean>>;
  readonly enums: readonly { readonly name: string }[];
  readonly messages: readonly { readonly name: string; readonly fields: readonly { readonly name: string }[] }[];
  readonly services: readonly { readonly name: string; readonly methods: readonly MethodFacts[] }[];
}

interface MethodFacts {
  readonly name: string;
  readonly http: readonly HttpFacts[];
  readonly [fact: string]: unknown;
}

interface HttpFacts {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  readonly additionalBinding: boolean;
  readonly [fact: string]: unknown;
}

const facts = JSON.parse(readFileSync(new URL("../vectors/schema.json", import.meta.url), "utf8")) as Facts;
const PACKAGE = "lf.a2a.v1";

const names = (things: readonly { readonly name: string }[]): string[] => things.map(({ name }) => name);

function only<T extends { readonly name: string }>(things: readonly T[], name: string): T {
  const found = things.filter((thing) => thing.name === name);
  assert.equal(found.length, 1, name);
  return found[0] as T;
}

/** Names of the package are written without it in the facts. */
function shortName(typeName: string): string {
  return typeName.startsWith(`${PACKAGE}.`) ? typeName.slice(PACKAGE.length + 1) : typeName;
}

function elementType(field: DescField): string {
  if (field.message !== undefined) return shortName(field.message.typeName);
  if (field.enum !== undefined) return shortName(field.enum.typeName);
  return ScalarType[field.scalar].toLowerCase();
}

function elementKind(field: DescField): "message" | "enum" | "scalar" {
  return field.message !== undefined ? "message" : field.enum !== undefined ? "enum" : "scalar";
}

function label(field: DescField): string {
  if (field.fieldKind === "map") return "map";
  if (field.fieldKind === "list") return "repeated";
  return field.proto.proto3Optional ? "optional" : "singular";
}

function presence(field: DescField): string {
  if (field.fieldKind === "map" || field.fieldKind === "list") return "none";
  return field.presence === FeatureSet_FieldPresence.EXPLICIT ? "explicit" : "implicit";
}

function fieldFacts(field: DescField): object {
  const map = field.fieldKind === "map" ? { key: ScalarType[field.mapKey].toLowerCase(), value: elementType(field) } : undefined;
  return {
    name: field.name,
    jsonName: field.jsonName,
    number: field.number,
    kind: map === undefined ? elementKind(field) : "map",
    type: map === undefined ? elementType(field) : `map<${map.key}, ${map.value}>`,
    ...(map && { map: { ...map, valueKind: elementKind(field) } }),
    label: label(field),
    oneof: field.oneof?.name ?? null,
    required: hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED),
    presence: presence(field),
    deprecated: field.deprecated,
  };
}

function messageFacts(message: DescMessage): object {
  return {
    name: message.name,
    fullName: message.typeName,
    fields: message.fields.map(fieldFacts),
    oneofs: message.oneofs.map((oneof) => ({ name: oneof.name, fields: names(oneof.fields) })),
  };
}

function httpFacts(rule: HttpRule, additionalBinding: boolean): object[] {
  const { pattern, body, responseBody, selector } = rule;
  assert.ok(pattern.case !== undefined && pattern.case !== "custom");
  assert.deepEqual([responseBody, selector], ["", ""]);
  assert.ok(!additionalBinding || rule.additionalBindings.length === 0, "an additional binding has no further ones");
  const own = { method: pattern.case.toUpperCase(), path: pattern.value, body: body === "" ? null : body, additionalBinding };
  return [own, ...rule.additionalBindings.flatMap((more) => httpFacts(more, true))];
}

function methodFacts(method: DescMethod): object {
  return {
    name: method.name,
    fullName: `${method.parent.typeName}/${method.name}`,
    input: shortName(method.input.typeName),
    output: shortName(method.output.typeName),
    clientStreaming: method.proto.clientStreaming,
    serverStreaming: method.proto.serverStreaming,
    methodSignature: getOption(method, method_signature),
    http: httpFacts(getOption(method, http), false),
  };
}

suite("the schema is A2A 1.0", () => {
  test("package, syntax and imports are those of the facts", () => {
    assert.equal(file.proto.package, facts.package);
    assert.equal(file.proto.syntax, facts.syntax);
    assert.deepEqual(file.proto.dependency.toSorted(), facts.imports.toSorted());
    assert.deepEqual([file.proto.publicDependency, file.proto.weakDependency, file.extensions], [[], [], []]);
  });

  test("file options are those of the facts, and no others", () => {
    const { $typeName, uninterpretedOption, ...options } = { ...file.proto.options };
    assert.deepEqual([$typeName, uninterpretedOption], ["google.protobuf.FileOptions", []]);
    assert.deepEqual(options, facts.fileOptions);
  });

  test("R-007 no enum, message or service is missing or added", () => {
    assert.deepEqual(names(file.enums), names(facts.enums));
    assert.deepEqual(names(file.messages), names(facts.messages));
    assert.deepEqual(names(file.services), names(facts.services));
  });

  for (const expected of facts.enums) {
    test(`R-170 enum ${expected.name} has its values, and no others`, () => {
      const found = only(file.enums, expected.name);
      const values = found.values.map(({ name, number }) => ({ name, number }));
      assert.deepEqual({ name: found.name, fullName: found.typeName, values }, expected);
    });
  }

  for (const expected of facts.messages) {
    test(`R-024 R-056 R-071 R-089 R-090 R-106 R-272 R-304 C-04 C-23 C-44 C-46 C-47 message ${expected.name} has its fields in their order, and no others`, () => {
      const found = only(file.messages, expected.name);
      assert.deepEqual(messageFacts(found), expected);
      assert.deepEqual([found.nestedMessages, found.nestedEnums, found.nestedExtensions], [[], [], []]);
      assert.deepEqual([found.proto.reservedName, found.proto.reservedRange, found.proto.extensionRange], [[], [], []]);
    });
  }

  for (const service of facts.services) {
    test(`R-278 R-283 service ${service.name} has its methods in their order, and no others`, () => {
      assert.deepEqual(names(only(file.services, service.name).methods), names(service.methods));
    });
    for (const expected of service.methods) {
      test(`R-284 R-285 R-298 method ${expected.name} has its types, streams, signature and HTTP rules`, () => {
        const { grpcPath, jsonRpcMethod, http: rules, ...rest } = expected;
        const found = only(only(file.services, service.name).methods, expected.name);
        assert.equal(`/${found.parent.typeName}/${found.name}`, grpcPath);
        assert.equal(found.name, jsonRpcMethod);
        const ruleFacts = rules.map(({ method, path, body, additionalBinding }) => ({ method, path, body, additionalBinding }));
        assert.deepEqual(methodFacts(found), { ...rest, http: ruleFacts });
      });
    }
  }
});
