import type { z } from "zod";
import { apiText } from "./api_text.ts";
import { TOKEN_PARAMETER } from "./auth.ts";
import type { Method, Replies, Route, RouteTable } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

/** Security schemes of the API description. */
const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer" },
  header: { type: "apiKey", in: "header", name: "X-API-Key" },
  query: { type: "apiKey", in: "query", name: TOKEN_PARAMETER },
} as const;
/** The token is optional in the description: a server without configured tokens needs none. */
const TOKEN_OR_NONE = [{}, ...Object.keys(SECURITY_SCHEMES).map((way) => ({ [way]: [] }))];

/** The OpenAPI 3.1 description of a table of routes. */
export async function describeApi(table: RouteTable, info: { title: string; version: string }): Promise<unknown> {
  const { OpenAPIRegistry, OpenApiGeneratorV31, zodToOpenAPIRegistry } = await import("@asteasolutions/zod-to-openapi");
  for (const schema of apiText.schemas.splice(0)) {
    const { refId, ...text } = apiText.get(schema) ?? {};
    zodToOpenAPIRegistry.add(schema, { ...text, ...(refId !== undefined && { _internal: { refId } }) });
  }
  const registry = new OpenAPIRegistry();
  for (const route of table) registry.registerPath(describeRoute(route));
  for (const [name, way] of Object.entries(SECURITY_SCHEMES)) registry.registerComponent("securitySchemes", name, way);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({ openapi: "3.1.0", info });
}

/** A route in the form of the API description. */
function describeRoute({ method = "GET", path, summary, isOpen, query, parts, body, replies }: Route) {
  const canFail = !(isEmpty(query) && isEmpty(parts)) || body;
  const takesToken = !isOpen;
  return {
    method: method.toLowerCase() as Lowercase<Method>,
    path,
    summary,
    ...(takesToken && { security: TOKEN_OR_NONE }),
    request: {
      query,
      params: parts,
      ...(body && { body: { required: true, content: { "application/json": { schema: body } } } }),
    },
    responses: describeReplies({
      ...replies,
      ...(canFail && { 400: PROBLEM }),
      ...(takesToken && { 401: PROBLEM, 403: PROBLEM }),
      ...(body && { 408: PROBLEM, 413: PROBLEM }),
    }),
  };
}

function isEmpty({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).length === 0;
}

function describeReplies(replies: Replies) {
  return Object.fromEntries(
    Object.entries(replies).map(([status, body]) => [status, {
      description: Number(status) < 400 ? "Success" : "Failure",
      ...(body && { content: { [body[0]]: { schema: body[1] } } }),
      ...describeHeaders(body === PROBLEM && RETRY_STATUS.includes(status) ? RETRY_AFTER : body?.[2]),
    }]),
  );
}

const RETRY_STATUS: readonly string[] = ["429", "503"];
const RETRY_AFTER = { "Retry-After": "Seconds to wait before a retry; left out if unknown" };

/** @param texts what each header says, by its name */
function describeHeaders(texts: Readonly<Record<string, string>> = {}) {
  const headers = Object.entries(texts).map(([name, description]) => [name, { description, schema: STRING }]);
  return headers.length > 0 && { headers: Object.fromEntries(headers) };
}

const STRING = { type: "string" } as const;
