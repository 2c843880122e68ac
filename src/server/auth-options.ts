/** Options of authentication and authorization: how callers say who they are, and what they may do. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { z } from "zod";
import { A2AService, SecuritySchemeSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { ANONYMOUS } from "../core/scope.ts";

const words = z.array(z.string().min(1));
const fieldName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "is the name of a field: letters, digits, - and _");

/** Nobody who brings credentials is taken for those who bring none. */
const principalName = z
  .string()
  .min(1)
  .max(256)
  .refine((name) => name !== ANONYMOUS, `may not be ${ANONYMOUS}: that is who brings nothing`);

/** What a principal may do, and where. */
const rights = { scopes: words.optional(), tenants: words.optional() };

/** The option `tokens`. */
export const tokensSchema = z.record(
  z.string().min(1),
  z.union([principalName, z.strictObject({ name: principalName, ...rights })], {
    error: 'is a name, or an object such as {"name":"alice","scopes":["tasks"]}',
  }),
  'is an object of tokens and who they stand for, such as {"s3cret":"alice"}',
);

const ASYMMETRIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const;
const HMAC = ["HS256", "HS384", "HS512"] as const;

/** Whether keys may be fetched from a URL: over TLS, or from this machine. */
function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.hash !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname));
}

const keysUrl = z.string().refine(isSafeUrl, "is an https URL; http is for this machine only");

/** One of something, or a list of it. The messages are those of the list, where a union would have none. */
function oneOrMore<T extends z.ZodType>(
  kind: "string" | "object",
  list: z.ZodArray<T>,
): z.ZodType<z.output<T>[], z.input<T> | z.input<T>[]> {
  // Something else stays what it is: of a text that is no JSON it is to be said that it is no list.
  const isOne = (given: unknown): boolean => typeof given === kind && given !== null && !Array.isArray(given);
  const wrapped = z.preprocess((given) => (isOne(given) ? [given] : given), list);
  return wrapped as unknown as z.ZodType<z.output<T>[], z.input<T> | z.input<T>[]>;
}

const issuerSchema = z
  .strictObject({
    issuer: keysUrl,
    audience: oneOrMore("string", words.min(1)),
    jwksUrl: keysUrl.optional(),
    jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())).min(1) }).optional(),
    secret: z.string().min(32, "is at least 32 characters long").optional(),
    algorithms: z
      .array(z.enum([...ASYMMETRIC, ...HMAC]))
      .min(1)
      .optional(),
    clockSkewSeconds: z.int().min(0).max(300).default(30),
    type: z.string().min(1).optional(),
    principalClaim: z.string().min(1).default("sub"),
    prefix: z.string().max(128).default(""),
    scopesClaim: z.string().min(1).optional(),
    tenantsClaim: z.string().min(1).optional(),
    claims: words.default([]),
    scheme: z
      .record(z.string(), z.unknown())
      .refine(isScheme, 'is a SecurityScheme as the card has it, such as {"oauth2SecurityScheme":{…}}')
      .optional(),
  })
  .superRefine(({ jwksUrl, jwks, secret, algorithms = [] }, context) => {
    const sources = Object.entries({ jwksUrl, jwks, secret }).filter(([, given]) => given !== undefined);
    if (sources.length > 1)
      context.addIssue({ code: "custom", path: [sources[1]?.[0] ?? ""], message: `is not needed beside ${sources[0]?.[0]}` });
    const hmac = algorithms.filter((one) => (HMAC as readonly string[]).includes(one));
    if (secret === undefined && hmac.length > 0)
      context.addIssue({
        code: "custom",
        path: ["algorithms"],
        message: `${hmac.join(", ")} needs a secret, and keys that are published are none`,
      });
    if (secret !== undefined && hmac.length < algorithms.length)
      context.addIssue({ code: "custom", path: ["algorithms"], message: `a secret is for ${HMAC.join(", ")} only` });
  });

function isScheme(given: Readonly<Record<string, unknown>>): boolean {
  try {
    return fromJson(SecuritySchemeSchema, given as JsonValue).scheme.case !== undefined;
  } catch {
    return false;
  }
}

const issuersSchema = oneOrMore("object", z.array(issuerSchema).min(1)).superRefine((issuers, context) => {
  for (const [at, { issuer, prefix }] of issuers.entries()) {
    const before = issuers.slice(0, at);
    if (before.some((one) => one.issuer === issuer))
      context.addIssue({ code: "custom", path: [at, "issuer"], message: "stands there twice" });
    // Else a caller of one issuer could have the name of another's.
    if (before.some((one) => one.prefix === prefix))
      context.addIssue({ code: "custom", path: [at, "prefix"], message: "is needed where there are several issuers, another for each" });
  }
});

const apiKeysSchema = z.strictObject({
  in: z.enum(["header", "query", "cookie"]).default("header"),
  name: fieldName.refine((name) => name.toLowerCase() !== "authorization", "is not where bearer tokens are").default("x-api-key"),
  keys: z
    .array(
      z.strictObject({
        sha256: z.string().regex(/^[0-9a-f]{64}$/i, "is the SHA-256 of a key, 64 hexadecimal digits"),
        name: principalName,
        ...rights,
        expires: z.iso.datetime({ offset: true, error: "is a time such as 2027-01-31T00:00:00Z" }).optional(),
      }),
    )
    .min(1),
});

const clientCertificatesSchema = z.strictObject({
  identity: z.enum(["spiffe", "subject"]),
  allow: z.record(z.string().min(1), z.strictObject({ name: principalName.optional(), ...rights })).optional(),
});

const OPERATIONS: readonly string[] = [...A2AService.methods.map(({ name }) => name), "*"];

/** The group `auth`. */
export const authSchema = z.strictObject({
  jwt: issuersSchema
    .optional()
    .describe("Issuers of JWTs that callers may bring, an object or a list of such: docs/security.md. Default: none."),
  apiKeys: apiKeysSchema.optional().describe("API keys, by their digests, and who they stand for: docs/security.md. Default: none."),
  clientCertificates: clientCertificatesSchema
    .optional()
    .describe("How client certificates name their callers: docs/security.md. Default: they name nobody."),
  scopes: z
    .record(z.string(), words)
    .superRefine((scopes, context) => {
      for (const name of Object.keys(scopes))
        if (!OPERATIONS.includes(name))
          context.addIssue({ code: "custom", path: [name], message: `is no operation; right are ${OPERATIONS.join(", ")}` });
    })
    .default({})
    .describe('Scopes that operations want, such as {"*":["a2a"],"CancelTask":["a2a","a2a.cancel"]}. Default: none.'),
});

/** Options of authentication, complete. */
export type AuthOptions = z.output<typeof authSchema>;
/** One issuer of them. */
export type IssuerOptions = z.output<typeof issuerSchema>;
