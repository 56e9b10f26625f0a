/** JSON Schema, as far as we print it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  anyOf?: Schema[];
}

/** A parameter of a path or a query. */
export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  explode?: boolean;
  description?: string;
  schema: Schema;
}

/** One endpoint. */
export interface Operation {
  summary: string;
  /** Ways to give a token, one of which is none. */
  security?: Record<string, unknown>[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  parameters?: Parameter[];
  responses: Record<
    string,
    {
      description: string;
      content?: Record<string, { schema: Schema }>;
      headers?: Record<string, { description: string; schema: Schema }>;
    }
  >;
}

/** The description of an API. */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> };
}

/** What is wrong with a value by its schema; enough of JSON Schema for what we print. */
export function faults(value: unknown, schema: Schema, api: OpenApi, at = "$"): string[] {
  if (schema.$ref) return faults(value, api.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, api, at);
  if (Object.keys(schema).every((key) => key === "description")) return [];
  if (schema.anyOf) {
    const each = schema.anyOf.map((option) => faults(value, option, api, at));
    return each.find((list) => list.length === 0) ?? each.flat();
  }
  const actual = value === null
    ? "null"
    : Array.isArray(value)
    ? "array"
    : Number.isInteger(value)
    ? "integer"
    : typeof value;
  const types = [schema.type ?? []].flat();
  const fits = types.includes(actual) || (actual === "integer" && types.includes("number"));
  if (types.length > 0 && !fits) return [`${at}: ${actual} is no ${types}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${at}: ${value} is none of ${schema.enum}`];
  if (Array.isArray(value)) return value.flatMap((each, i) => faults(each, schema.items ?? {}, api, `${at}[${i}]`));
  if (typeof value !== "object" || value === null) return [];
  const entries = Object.entries(value);
  const missing = (schema.required ?? []).filter((key) => !(key in value)).map((key) => `${at}: "${key}" is missing`);
  return [
    ...missing,
    ...entries.flatMap(([key, each]) => {
      const inner = schema.properties?.[key] ?? schema.additionalProperties;
      return inner ? faults(each, inner, api, `${at}.${key}`) : [`${at}: "${key}" is not described`];
    }),
  ];
}
