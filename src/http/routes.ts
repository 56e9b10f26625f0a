import type { Logger } from "../base/mod.ts";
import { OpenAPIHono, type z } from "@hono/zod-openapi";
import { readBody } from "./bodies.ts";
import { noQuery, readParts, readQuery } from "./params.ts";
import { ApiError, finish, json, preflight, problem } from "./reply.ts";
import { PROBLEM } from "./schemas.ts";

/** What a path answers with, by status: media type and shape of the body; null without one. */
type Replies = Record<number, readonly [mediaType: string, schema: z.ZodType] | null>;

/** Methods that change something; HEAD and OPTIONS come by themselves. */
type Method = "GET" | "PUT" | "POST" | "DELETE";

/** One endpoint. */
interface RouteOptions<Query extends z.ZodObject, Parts extends z.ZodObject> {
  /** Default GET. */
  method?: Method;
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
  /** Checks the body, and is what the API description prints. */
  body?: z.ZodType;
  /** Answers a request; `parts` are the parts of its path that vary, unchecked. */
  handle: (request: Request, given: Given) => Response | Promise<Response>;
}

/** What a request is answered with besides itself. */
interface Given {
  /** Parts of the path that vary, unchecked. */
  parts: Record<string, string>;
  /** Longest body that is read. */
  maxBodyBytes: number;
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
    handle: (request, { parts }) =>
      answer(request, readQuery(new URL(request.url), rest.query), readParts(parts, rest.parts)),
  };
}

/** Makes a row that takes a JSON body; the answer gets it checked, and the parts of the path. */
export function routeWithBody<Body extends z.ZodType, Parts extends z.ZodObject>(
  { answer, body, ...rest }: Omit<RouteOptions<typeof noQuery, Parts>, "answer" | "query"> & {
    body: Body;
    answer: (body: z.output<Body>, parts: z.output<Parts>) => Response | Promise<Response>;
  },
): Route {
  return {
    ...rest,
    query: noQuery,
    body,
    handle: async (request, { parts, maxBodyBytes }) => {
      const checked = readParts(parts, rest.parts);
      return await answer(await readBody(request, body, { maxBytes: maxBodyBytes }), checked);
    },
  };
}

const METHODS = ["GET", "PUT", "POST", "DELETE"] as const;

/** How a table of routes is served. */
export interface ServeOptions {
  /** What the server calls itself in its API description. */
  title: string;
  /** Version of the server. */
  version: string;
  /** Longest body that is read; default {@linkcode DEFAULT_MAX_BODY_BYTES}. */
  maxBodyBytes?: number;
  /** Gets what made a request fail that should not have. */
  log: Logger;
}

/** Longest body that is read when nothing else is said. */
export const DEFAULT_MAX_BODY_BYTES = 65_536;

/** Serves a table of routes: HEAD on every GET, OPTIONS everywhere, errors as problems, `/openapi.json`. */
export function serveRoutes(
  table: RouteTable,
  { title, version, log, maxBodyBytes = DEFAULT_MAX_BODY_BYTES }: ServeOptions,
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
  for (const each of [...table, openapi]) {
    const { method = "GET", path, handle } = each;
    app.on(
      method,
      path.replace(/\{(\w+)\}/g, ":$1"),
      (context) => handle(context.req.raw, { parts: context.req.param(), maxBodyBytes }),
    );
    describeRoute(app, each);
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

/** Puts a row into the API description. */
function describeRoute(app: OpenAPIHono, { method = "GET", path, summary, query, parts, body, replies }: Route): void {
  const canFail = !(isEmpty(query) && isEmpty(parts)) || body;
  app.openAPIRegistry.registerPath({
    method: method.toLowerCase() as Lowercase<Method>,
    path,
    summary,
    request: {
      query,
      params: parts,
      ...(body && { body: { required: true, content: { "application/json": { schema: body } } } }),
    },
    responses: describeReplies({ ...replies, ...(canFail && { 400: PROBLEM }), ...(body && { 413: PROBLEM }) }),
  });
}

function isEmpty({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).length === 0;
}

/** Requests whose body nobody wants. */
const heads = new WeakSet<Request>();

/** True when a GET was a HEAD: what opens something for its reader opens nothing. */
export function isHead(request: Request): boolean {
  return heads.has(request);
}

/** HEAD is answered as GET: below us the head alone is sent, and the body cancelled. It opens no WebSocket. */
function asGet(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.delete("Upgrade");
  const get = new Request(request.url, { headers });
  heads.add(get);
  return get;
}

function describeReplies(replies: Replies) {
  return Object.fromEntries(
    Object.entries(replies).map(([status, body]) => [status, {
      description: Number(status) < 400 ? "Success" : "Failure",
      ...(body && { content: { [body[0]]: { schema: body[1] } } }),
    }]),
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
