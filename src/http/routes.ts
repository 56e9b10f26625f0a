import type { Logger } from "../base/mod.ts";
import { OpenAPIHono, type z } from "@hono/zod-openapi";
import { noQuery, readParts, readQuery } from "./params.ts";
import { ApiError, finish, json, preflight, problem } from "./reply.ts";
import { PROBLEM } from "./schemas.ts";

/** What a path answers with, by status: media type and shape of the body. */
type Replies = Record<number, readonly [mediaType: string, schema: z.ZodType]>;

/** One endpoint. */
interface RouteOptions<Query extends z.ZodObject, Parts extends z.ZodObject> {
  /** Parts of it that vary are named in braces: `/pgns/{pgn}`. */
  path: string;
  summary: string;
  /** Checks the parts of the path that vary. */
  parts: Parts;
  /** Checks the query string, and is what the API description prints. */
  query: Query;
  replies: Replies;
  answer: (request: Request, query: z.output<Query>, parts: z.output<Parts>) => Response | Promise<Response>;
}

/** One endpoint, ready to be served. */
export interface Route extends Omit<RouteOptions<z.ZodObject, z.ZodObject>, "answer"> {
  /** Answers a request; `parts` are the parts of its path that vary, unchecked. */
  handle: (request: Request, parts: Record<string, string>) => Response | Promise<Response>;
}

/** All endpoints of a server. */
export type RouteTable = readonly Route[];

/** Makes a row of the table; the answer gets the query checked. */
export function route<Query extends z.ZodObject>(
  options: Omit<RouteOptions<Query, typeof noQuery>, "parts">,
): Route {
  return routeWithParts({ ...options, parts: noQuery });
}

/** Makes a row whose path has parts that vary; the answer gets them checked too. */
export function routeWithParts<Query extends z.ZodObject, Parts extends z.ZodObject>(
  { answer, ...rest }: RouteOptions<Query, Parts>,
): Route {
  return {
    ...rest,
    handle: (request, parts) =>
      answer(request, readQuery(new URL(request.url), rest.query), readParts(parts, rest.parts)),
  };
}

const METHODS = ["GET", "PUT", "POST", "DELETE"] as const;

/** How a table of routes is served. */
export interface ServeOptions {
  /** What the server calls itself in its API description. */
  title: string;
  /** Version of the server. */
  version: string;
  /** Gets what made a request fail that should not have. */
  log: Logger;
}

/** Serves a table of routes: HEAD on every GET, OPTIONS everywhere, errors as problems, `/openapi.json`. */
export function serveRoutes(
  table: RouteTable,
  { title, version, log }: ServeOptions,
): (request: Request) => Promise<Response> {
  const app = new OpenAPIHono();
  let description: unknown;
  const describe = () => json(description ??= app.getOpenAPI31Document({ openapi: "3.1.0", info: { title, version } }));
  const openapi = route({
    path: "/openapi.json",
    summary: "This description",
    query: noQuery,
    replies: { 200: ["application/json", noQuery] },
    answer: describe,
  });
  for (const { path, summary, query, parts, replies, handle } of [...table, openapi]) {
    app.get(path.replace(/\{(\w+)\}/g, ":$1"), (context) => handle(context.req.raw, context.req.param()));
    app.openAPIRegistry.registerPath({
      method: "get",
      path,
      summary,
      request: { query, params: parts },
      responses: describeReplies(isEmpty(query) && isEmpty(parts) ? replies : { ...replies, 400: PROBLEM }),
    });
  }
  app.notFound(({ req }) => problem(missing(app, req.method, req.path)));
  app.onError((error, { req }) => {
    if (!(error instanceof ApiError)) {
      log.error("request failed", { method: req.method, path: req.path, error: error.stack ?? String(error) });
    }
    return problem(error);
  });
  return async (request) => {
    if (request.method === "OPTIONS") return preflight();
    if (!URL.canParse(request.url)) return finish(request, problem(new ApiError(400, "The Host header is not valid")));
    const response = await app.fetch(request.method === "HEAD" ? asGet(request) : request);
    return response.status === 101 ? response : finish(request, response);
  };
}

function isEmpty({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).length === 0;
}

/** HEAD is answered as GET: below us the head alone is sent, and the body cancelled. It opens no WebSocket. */
function asGet(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.delete("Upgrade");
  return new Request(request.url, { headers });
}

function describeReplies(replies: Replies) {
  return Object.fromEntries(
    Object.entries(replies).map(([status, [mediaType, schema]]) => [
      status,
      { description: Number(status) < 400 ? "Success" : "Failure", content: { [mediaType]: { schema } } },
    ]),
  );
}

/** 404, or 405 when the path exists for another method. */
function missing(app: OpenAPIHono, method: string, path: string): ApiError {
  const allowed: string[] = METHODS.filter((each) => app.router.match(each, path)[0].length > 0);
  if (allowed.length === 0) return new ApiError(404, `There is nothing at "${path}": see /openapi.json`);
  if (allowed.includes("GET")) allowed.push("HEAD");
  allowed.push("OPTIONS");
  return new ApiError(405, `"${path}" does not take ${method}`, { headers: { Allow: allowed.join(", ") } });
}
