/** Services made of HTTP rules, for tests of the transcoder. */
import { create, createFileRegistry, type DescMessage, type DescService, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";

/** A method: its messages and its rule. */
export interface RuleMethod {
  readonly rule: MessageInitShape<typeof HttpRuleSchema>;
  readonly input: DescMessage;
  readonly output: DescMessage;
}

/** A rule as the vectors write it. */
export function httpRule(method: string, template: string, body = "", responseBody = ""): MessageInitShape<typeof HttpRuleSchema> {
  const verb = (["get", "put", "post", "delete", "patch"] as const).find((name) => name.toUpperCase() === method);
  const pattern =
    verb === undefined ? ({ case: "custom", value: { kind: method, path: template } } as const) : { case: verb, value: template };
  return { pattern, body, responseBody };
}

/** A service with the methods `M0`, `M1` and so on. */
export function ruleService(...methods: readonly RuleMethod[]): DescService {
  const files = new Map(methods.flatMap(({ input, output }) => [input.file, output.file]).map((file) => [`${file.name}.proto`, file]));
  const file = create(FileDescriptorProtoSchema, {
    name: "rules.proto",
    package: "rules.v1",
    syntax: "proto3",
    dependency: [...files.keys()],
    service: [
      {
        name: "Rules",
        method: methods.map(({ rule, input, output }, index) => {
          const options = create(MethodOptionsSchema);
          setExtension(options, http, create(HttpRuleSchema, rule));
          return { name: `M${index}`, inputType: `.${input.typeName}`, outputType: `.${output.typeName}`, options };
        }),
      },
    ],
  });
  const service = createFileRegistry(file, (name) => files.get(name)).getService("rules.v1.Rules");
  if (service === undefined) throw new Error("the service is not in its registry");
  return service;
}
