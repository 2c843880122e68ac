/** Hostile texts for one field, by its type, and what each is worth. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { isPlain } from "./request-fields.ts";
import { INJECTED } from "./surface.ts";

/**
 * What a text is to its field: `bad`, of the wrong type or form; `unset`, the same as leaving the field out; `plain`, a string like any other
 * that means nothing here; `long`, such a string beyond all bounds; `hollow`, a message without members; `good`; or a number.
 */
type Verdict = "bad" | "unset" | "plain" | "long" | "hollow" | "good" | number;

/** A text and its verdict. */
export interface Text {
  readonly text: string;
  readonly verdict: Verdict;
  /** Where, below the field, the error lies. Default: at the field. `*`: somewhere below. */
  readonly at?: string;
  /** The string that the text stands for, where it is `plain` or `long`. */
  readonly value?: string;
}

/** Longer than any id may be. */
export const LONG = "x".repeat(600);
const DEEP = 10_000;

const texts = (verdict: Verdict, all: readonly string[], at = ""): Text[] => all.map((text) => ({ text, verdict, at }));

/** Strings as a body or a parameter writes them. */
const strings = (verdict: Verdict, all: readonly string[], write: (value: string) => string): Text[] =>
  all.map((value) => ({ text: write(value), verdict, value }));

/** Strings that are fine by themselves, and that something on the way may take for more than a string. */
export const PLAIN: readonly string[] = [
  `a\r\n${INJECTED}: yes\r\n\r\n`,
  `a\ndata: {}\n${INJECTED}\n`,
  `\u0000\u0001\u001b[2J\u007f${INJECTED}`,
  `\u0085${INJECTED}`,
  `\u2028${INJECTED}\u2029`,
  "a: b, c;d=e\"f'g\\h",
  "__proto__",
  "{x}{y}",
  "*:?#[]@!$&()",
  "%00%2F..%2f",
  "\u202egnp.exe",
  "💥\u{10ffff}",
  "{{7*7}}${7*7}<script>",
];

const HALF_PAIRS = ['"\\ud800"', '"a\\udfff"', '"\\udc00\\ud800"'];

/** What stands in a body, as JSON. */
export function bodyTexts(field: DescField): Text[] {
  const one = singleTexts(field);
  if (field.fieldKind !== "list") return [...one, { text: "null", verdict: takesNull(field) ? "good" : "unset" }];
  const items = one.filter(({ verdict }) => verdict !== "unset" && verdict !== "long");
  return [
    ...texts("bad", ['"x"', "5", "true", "{}"]),
    ...texts("bad", ["[null]"], "[0]"),
    ...texts("unset", ["[]", "null"]),
    ...items.map((item) => asItem(item)),
  ];
}

/** A text as the one item of a list. */
function asItem({ text, verdict, at = "", value = "" }: Text): Text {
  return { text: `[${text}]`, verdict, at: at === "*" ? at : `[0]${at}`, value };
}

function singleTexts(field: DescField): Text[] {
  if (field.enum !== undefined) return enumTexts(field.enum.values.map(({ name }) => name));
  switch (field.message?.typeName) {
    case "google.protobuf.Struct":
      return structTexts();
    case "google.protobuf.Value":
      return valueTexts();
    case "google.protobuf.Timestamp":
      return timeTexts();
    case undefined:
      return scalarTexts(field);
    default:
      return [...texts("bad", ['"x"', "5", "true", "[]", "[{}]"]), { text: "{}", verdict: "hollow" }];
  }
}

function takesNull(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Value";
}

function scalarTexts(field: DescField): Text[] {
  switch (field.scalar) {
    case ScalarType.STRING:
      return [
        ...texts("bad", ["5", "true", "{}", "[]", '["x"]', ...HALF_PAIRS]),
        ...texts(field.oneof === undefined ? "unset" : "good", ['""']),
        ...strings("plain", PLAIN, JSON.stringify),
        ...strings("long", [LONG], JSON.stringify),
      ];
    case ScalarType.BOOL:
      return [...texts("bad", ['"true"', "1", "0", "{}", "[]", '""']), ...texts("good", ["true", "false"])];
    case ScalarType.BYTES:
      return [...texts("bad", ['"!"', '"a"', '"ab="', '"AA==="', '"A A="', "5", "{}", "[0]"]), ...texts("good", ['"AA=="', '"-_8"', '""'])];
    default:
      return [
        ...texts("bad", ['"x"', '""', '" 1"', "true", "{}", "[]", "[1]", "1.5", '"1.5"', '"0x1"', '"01"', '"NaN"', '"Infinity"']),
        ...texts("bad", ["2147483648", "-2147483649", "9007199254740992", "9007199254740993", "1e400", "-1e400", '"1e400"']),
        ...[0, 1, -1, 101, 2_147_483_647, -2_147_483_648].flatMap((value) => texts(value, [String(value), `"${value}"`])),
        ...texts(10, ["10.0", "1e1", '"1e1"']),
        ...texts(0, ["-0"]),
      ];
  }
}

function enumTexts([zero = "", first = ""]: readonly string[]): Text[] {
  return [
    ...texts("bad", ['"NO_SUCH_VALUE"', '""', '"1"', JSON.stringify(first.toLowerCase()), "99", "-1", "1.5", "2147483648", "1e400"]),
    ...texts("bad", ["true", "{}", "[]", HALF_PAIRS[0] as string]),
    ...texts("unset", [JSON.stringify(zero), "0"]),
    ...texts("good", [JSON.stringify(first), "1"]),
  ];
}

function timeTexts(): Text[] {
  const days = ["0000-01-01", "10000-01-01", "2021-02-29", "2021-13-01", "2021-01-32", "-001-01-01", "2021-1-1", "20210101"];
  const times = ["24:00:00", "00:60:00", "23:59:60", "00:00:61", "0:0:0", "00:00", "00:00:00.", "00:00:00,5"];
  const offsets = ["", "z", "+24:00", "+0100", " Z", "+01", "Z\\n"];
  const written = [
    ...days.map((day) => `${day}T00:00:00Z`),
    ...times.map((time) => `2021-01-01T${time}Z`),
    ...offsets.map((offset) => `2021-01-01T00:00:00${offset}`),
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "now",
    "",
  ];
  return [
    ...texts("bad", [...written.map((time) => `"${time}"`), "5", "1e400", "{}", '{"seconds":1}', "[]", "true"]),
    ...texts("good", ['"2021-01-01T00:00:00+23:59"', '"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999999999Z"']),
    ...texts("good", [`"2021-01-01T00:00:00.${"1".repeat(400)}-08:00"`]),
  ];
}

function structTexts(): Text[] {
  return [
    ...texts("bad", ["5", '"x"', "[]", "true", "[{}]"]),
    ...texts("bad", [`{${HALF_PAIRS[0]}:1}`]),
    ...texts("bad", [`{"k":${HALF_PAIRS[1]}}`, '{"k":1e400}'], ".k"),
    ...texts("bad", [`{"k":[{"l":${HALF_PAIRS[1]}}]}`], ".k[0].l"),
    ...texts("bad", [`${'{"k":'.repeat(DEEP)}1${"}".repeat(DEEP)}`], "*"),
    ...texts("good", ["{}", '{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}', '{"":null}']),
    ...texts("good", ['{"k":1,"k":2}', JSON.stringify({ [PLAIN[0] as string]: PLAIN })]),
  ];
}

function valueTexts(): Text[] {
  return [
    ...texts("bad", [...HALF_PAIRS, "1e400", "-1e400"]),
    ...texts("bad", ["[0,1e400]"], "[1]"),
    ...texts("bad", [`${"[".repeat(DEEP)}${"]".repeat(DEEP)}`], "*"),
    ...texts("good", ["0", "-0", "1e308", "9007199254740993", '""', "[]", "{}", "false", JSON.stringify(PLAIN), '{"__proto__":1}']),
  ];
}

/** What stands in a query or a path, percent-encoded. */
export function parameterTexts(field: DescField): Text[] {
  const bad = ["%", "%z", "%zz", "%C3", "%FF", "%C0%80", "%ED%A0%80", "%F5%80%80%80", "%u0041"];
  return [...texts("bad", bad), ...plainParameters(field)];
}

function plainParameters(field: DescField): Text[] {
  if (field.message !== undefined && !isPlain(field.message)) return texts("bad", ["", "x", "%7B%7D"]);
  if (field.enum !== undefined) {
    const [zero = "", first = ""] = field.enum.values.map(({ name }) => name);
    return [
      ...texts("bad", [
        "",
        "NO_SUCH_VALUE",
        first.toLowerCase(),
        "99",
        "-1",
        "1.5",
        "2147483648",
        "99999999999999999999",
        "1e400",
        "true",
        `${first}%00`,
      ]),
      ...texts("unset", [zero, "0"]),
      ...texts("good", [first, "1", encodeURIComponent(first)]),
    ];
  }
  if (field.message !== undefined) {
    return timeTexts()
      .filter(({ text }) => text.startsWith('"'))
      .map(({ text, verdict }) => ({ text: encodeURIComponent(JSON.parse(text) as string), verdict }));
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return [
        ...texts("unset", [""]),
        ...strings("plain", [...PLAIN, "a+b", "/", "%3Cb%3E", "null", "5"], encodeURIComponent),
        ...strings("long", [LONG, "💥".repeat(300)], encodeURIComponent),
      ];
    case ScalarType.BOOL:
      return [...texts("bad", ["", "1", "0", "TRUE", "yes", "null", "true%20"]), ...texts("good", ["true", "false"])];
    default:
      return [
        ...texts("bad", ["", "x", "1.5", "0x1", "01", "1%20", "+1", "%2B1", "null", "NaN", "1e400", "2147483648", "-2147483649"]),
        ...texts("bad", ["9007199254740992", "9007199254740993", "1,2"]),
        ...[0, 1, -1, 101, 2_147_483_647].flatMap((value) => texts(value, [String(value)])),
        ...texts(10, ["1e1", "10.0"]),
      ];
  }
}
