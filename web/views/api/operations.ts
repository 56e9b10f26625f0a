/** A JSON schema, as far as the page shows it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  default?: unknown;
  example?: unknown;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

/** A parameter of an operation. */
export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

type Content = Record<string, { schema?: Schema }>;

/** What `/openapi.json` says of an operation. */
interface OperationText {
  summary?: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { content?: Content };
  responses?: Record<string, { description?: string; content?: Content }>;
}

/** `/openapi.json`. */
export interface ApiDocument {
  info: { title: string; version: string };
  paths: Record<string, Record<string, OperationText>>;
  components?: { schemas?: Record<string, Schema> };
}

/** A method of a path. */
export interface Operation {
  id: string;
  /** Upper case. */
  method: string;
  path: string;
  group: string;
  summary: string;
  parameters: readonly Parameter[];
  body: Schema | undefined;
  responses: readonly { status: string; description: string; type: string; schema: Schema | undefined }[];
  /** A token may be needed. */
  isClosed: boolean;
}

/** Groups by path, in the order in which they are shown. */
const GROUPS: readonly [RegExp, string][] = [
  [/\/clients\//, "Sessions"],
  [/replication|\/status$|^\/instances$/, "Replication and fleet"],
  [/\/(?:events|ws|devices|values|sources)\b/, "Live"],
  [/\/(?:history|series)\b/, "Recorded"],
  [/\/(?:send|query)$/, "Send"],
  [/^\/pgns/, "PGNs"],
  [/./, "Server"],
];
const ORDER = ["Live", "Recorded", "Sessions", "Send", "Replication and fleet", "PGNs", "Server"];

/** All operations, by group. */
export function operationsOf({ paths }: ApiDocument): Operation[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, text]): Operation => ({
      id: `${method} ${path}`,
      method: method.toUpperCase(),
      path,
      group: GROUPS.find(([pattern]) => pattern.test(path))?.[1] ?? "Server",
      summary: text.summary ?? "",
      parameters: text.parameters ?? [],
      body: Object.values(text.requestBody?.content ?? {})[0]?.schema,
      responses: Object.entries(text.responses ?? {}).map(([status, { description = "", content = {} }]) => {
        const [type = ""] = Object.keys(content);
        return { status, description, type, schema: content[type]?.schema };
      }),
      isClosed: (text.security ?? []).length > 0,
    }))
  );
  return all.sort((a, b) => ORDER.indexOf(a.group) - ORDER.indexOf(b.group));
}

/** The operations that have all words of a text in path, summary or parameters. */
export function searchOperations(text: string, all: readonly Operation[]): Operation[] {
  const words = text.toLowerCase().split(/\s+/);
  return all.filter(({ id, summary, group, parameters }) => {
    const where = `${id} ${summary} ${group} ${parameters.map(({ name }) => name).join(" ")}`.toLowerCase();
    return words.every((word) => where.includes(word));
  });
}

/** Whether the page can send it: it only reads. A reader of a session would end the one before. */
export function canTry({ method, path, body, responses }: Operation): boolean {
  const isSession = /\/clients\/.*\/events$/.test(path);
  return method === "GET" && !body && !isSession && !responses.some(({ status }) => status === "101");
}

/** Name of the schema that another one is a reference to. */
export function referenceOf({ $ref }: Schema): string | undefined {
  return $ref?.split("/").at(-1);
}

/** Type and limits of a value: `integer, 0 to 255, default 7`. */
export function schemaText(schema: Schema): string {
  const { type, format, items, anyOf, oneOf, enum: values, pattern } = schema;
  const named = referenceOf(schema);
  if (named !== undefined) return named;
  const choices = anyOf ?? oneOf;
  if (choices) return choices.map(schemaText).join(" | ");
  const types = [type ?? []].flat();
  const kind = values
    ? values.map((each) => JSON.stringify(each)).join(" | ")
    : types.map((each) => each === "array" && items ? `list of ${schemaText(items)}` : each).join(" | ") ||
      (schema.const === undefined ? "any value" : JSON.stringify(schema.const));
  return [
    kind,
    ...format === undefined ? [] : [format],
    ...[["", "minimum", "maximum"], [" characters", "minLength", "maxLength"], [" items", "minItems", "maxItems"]]
      .flatMap(([unit = "", least = "", most = ""]) =>
        limitText(numberAt(schema, least), numberAt(schema, most), unit)
      ),
    ...pattern === undefined ? [] : [`matches ${pattern}`],
    ...schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`],
  ].join(", ");
}

function numberAt(schema: Schema, key: string): number | undefined {
  const value = new Map<string, unknown>(Object.entries(schema)).get(key);
  return typeof value === "number" ? value : undefined;
}

function limitText(least: number | undefined, most: number | undefined, unit: string): string[] {
  // 0 is the least number of items and characters anyway.
  const from = unit !== "" && least === 0 ? undefined : least;
  if (from !== undefined && most !== undefined) return [`${from} to ${most}${unit}`];
  if (from !== undefined) return [`at least ${from}${unit}`];
  return most === undefined ? [] : [`at most ${most}${unit}`];
}

/** Path and query with values by parameter; a list is written with commas. */
export function addressOf({ path, parameters }: Operation, values: ReadonlyMap<string, string>): string {
  const query = new URLSearchParams();
  let address = path;
  for (const { name, in: where, schema } of parameters) {
    const value = values.get(name) ?? "";
    if (where === "path") {
      address = address.replace(`{${name}}`, value === "" ? `{${name}}` : encodeURIComponent(value));
    } else if (where === "query" && value !== "") {
      const isList = [schema?.type].flat().includes("array");
      for (const each of isList ? value.split(",") : [value]) query.append(name, each.trim());
    }
  }
  // Nothing needs these encoded, and people read the line.
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return text === "" ? address : `${address}?${text}`;
}

/** A command line for a shell; required parameters without a value are their names. */
export function curlOf(
  operation: Operation,
  { origin, values, hasToken }: { origin: string; values: ReadonlyMap<string, string>; hasToken: boolean },
): string {
  const { method, parameters, body, isClosed } = operation;
  const given = new Map(values);
  for (const { name, required, in: where, schema } of parameters) {
    if (required && where !== "path" && !given.get(name)) {
      given.set(name, String(schema?.example ?? name.toUpperCase()));
    }
  }
  return [
    "curl",
    ...method === "GET" ? [] : [`-X ${method}`],
    ...hasToken && isClosed ? [`-H "Authorization: Bearer $TOKEN"`] : [],
    ...body ? [`-H 'Content-Type: application/json'`, `-d '{}'`] : [],
    quoted(origin + addressOf(operation, given)),
  ].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
