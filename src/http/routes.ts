import type { ListenAddress, Logger } from "../base/mod.ts";
import { OpenAPIHono, type z } from "@hono/zod-openapi";
import { Access, type Caller, OPEN_PATHS, type Scope, TOKEN_PARAMETER, urlWithoutToken } from "./auth.ts";
import { type BodyLimits, readBody } from "./bodies.ts";
import { noQuery, readParts, readQuery } from "./params.ts";
import { ApiError, finish, json, preflight, problem } from "./reply.ts";
import { PROBLEM } from "./schemas.ts";

/** Replies of a path by status: media type, schema of the body and descriptions of headers; null: no body. */
type Replies = Record<
  number,
  readonly [mediaType: string, schema: z.ZodType, headers?: Readonly<Record<string, string>>] | null
>;

/** Methods of route tables; HEAD and OPTIONS are added automatically. */
type Method = "GET" | "PUT" | "POST" | "DELETE";

/** One endpoint. */
interface RouteOptions<Query extends z.ZodObject, Parts extends z.ZodObject, Subject> {
  /** Default GET. */
  method?: Method;
  /** Variable parts are in braces: `/pgns/{pgn}`. */
  path: string;
  summary: string;
  /** Required scope; default `read`. `send` is closed to pages of other origins. */
  scope?: Scope;
  /** The endpoint uses a session, which is closed to pages of other origins, too; default false. */
  ofSession?: boolean;
  /** Schema of the variable path parts. */
  parts: Parts;
  /** Schema of the query string; printed in the API description. */
  query: Query;
  replies: Replies;
  answer: (
    request: Request,
    query: z.output<Query>,
    parts: z.output<Parts>,
    about: About<Subject>,
  ) => Response | Promise<Response>;
}

/** Context of a request. */
export interface About<Subject = undefined> {
  caller: Caller;
  /** The dependencies of a shared row: see {@linkcode bindRows}. */
  subject: Subject;
}

/** One endpoint, ready to be served. */
export interface Route<Subject = undefined> extends Omit<RouteOptions<z.ZodObject, z.ZodObject, Subject>, "answer"> {
  /** Schema of the body; printed in the API description. */
  body?: z.ZodType;
  /** Answers a request. */
  handle: (request: Request, given: Given<Subject>) => Response | Promise<Response>;
}

/** Context of a request, unchecked. */
export interface Given<Subject = undefined> extends About<Subject> {
  /** Variable path parts, unchecked. */
  parts: Record<string, string>;
  bodyLimits: BodyLimits;
}

/** Endpoints; without a subject they are ready to be served. */
export type RouteTable<Subject = undefined> = readonly Route<Subject>[];

/** Creates a row; `answer` receives the checked query. */
export function route<Query extends z.ZodObject, Subject = undefined>(
  options: Omit<RouteOptions<Query, typeof noQuery, Subject>, "parts">,
): Route<Subject> {
  return routeWithParts({ ...options, parts: noQuery });
}

/** Creates a row with variable path parts; `answer` receives them checked, too. */
export function routeWithParts<Query extends z.ZodObject, Parts extends z.ZodObject, Subject = undefined>(
  { answer, ...rest }: RouteOptions<Query, Parts, Subject>,
): Route<Subject> {
  return {
    ...rest,
    handle: (request, { parts, caller, subject }) =>
      answer(request, readQuery(urlWithoutToken(request), rest.query), readParts(parts, rest.parts), {
        caller,
        subject,
      }),
  };
}

/** Binds shared rows to their dependencies. */
export function bindRows<Subject>(rows: RouteTable<Subject>, subject: Subject): RouteTable {
  return rows.map(({ handle, ...rest }) => ({
    ...rest,
    handle: (request, given) => handle(request, { ...given, subject }),
  }));
}

/** Creates a row with a JSON body; `answer` receives the checked body and path parts. */
export function routeWithBody<Body extends z.ZodType, Parts extends z.ZodObject, Subject = undefined>(
  { answer, admit, refused, body, ...rest }: Omit<RouteOptions<typeof noQuery, Parts, Subject>, "answer" | "query"> & {
    body: Body;
    /** Called before the body is read; throws to refuse the request. */
    admit?: (about: About<Subject>) => void | Promise<void>;
    /** Called when the request is refused because of its body, with 400, 408 or 413. */
    refused?: (error: ApiError, about: About<Subject>) => void;
    answer: (body: z.output<Body>, parts: z.output<Parts>, about: About<Subject>) => Response | Promise<Response>;
  },
): Route<Subject> {
  return {
    ...rest,
    query: noQuery,
    body,
    handle: async (request, { parts, bodyLimits, caller, subject }) => {
      const checked = readParts(parts, rest.parts);
      const about = { caller, subject };
      await admit?.(about);
      try {
        return await answer(await readBody(request, body, bodyLimits), checked, about);
      } catch (error) {
        if (error instanceof ApiError && [400, 408, 413].includes(error.status)) refused?.(error, about);
        throw error;
      }
    },
  };
}

const METHODS = ["GET", "PUT", "POST", "DELETE"] as const;

/** Options of {@linkcode serveRoutes}. */
export interface ServeOptions {
  /** Title of the API description. */
  title: string;
  /** Version of the server. */
  version: string;
  /** Maximum body size; default {@linkcode DEFAULT_MAX_BODY_BYTES}. */
  maxBodyBytes?: number;
  /** Maximum time for receiving a body, milliseconds; default {@linkcode DEFAULT_BODY_TIMEOUT_MS}. */
  bodyTimeoutMs?: number;
  /** Access control; default: every scope for everybody, except pages of other origins. */
  access?: Access;
  /** Receives unexpected errors of requests. */
  log: Logger;
}

/** Default maximum body size, bytes. */
export const DEFAULT_MAX_BODY_BYTES = 65_536;
/** Default maximum time for receiving a body, milliseconds. */
export const DEFAULT_BODY_TIMEOUT_MS = 30_000;

type Origin = { Bindings: { from: ListenAddress | undefined } };
type App = OpenAPIHono<Origin>;

/** Serves a route table, with HEAD for every GET, OPTIONS everywhere, errors as problems, and `/openapi.json`. */
export function serveRoutes(
  table: RouteTable,
  { title, version, log, access = new Access(), ...limits }: ServeOptions,
): (request: Request, from?: ListenAddress) => Promise<Response> {
  const { maxBodyBytes: maxBytes = DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs: timeoutMs = DEFAULT_BODY_TIMEOUT_MS } =
    limits;
  const bodyLimits = { maxBytes, timeoutMs };
  const app: App = new OpenAPIHono();
  let description: unknown;
  const describe = () => json(description ??= app.getOpenAPI31Document({ openapi: "3.1.0", info: { title, version } }));
  const openapi = route({
    path: "/openapi.json",
    summary: "This API description",
    query: noQuery,
    replies: { 200: ["application/json", noQuery] },
    answer: describe,
  });
  for (const each of [...table, openapi]) {
    const { method = "GET", path, scope = "read", ofSession = false, handle } = each;
    app.on(
      method,
      path.replace(/\{(\w+)\}/g, ":$1"),
      ({ req, env: { from } }) =>
        handle(req.raw, {
          caller: access.admit(req.raw, { scope, ofSession, from }),
          subject: undefined,
          parts: req.param(),
          bodyLimits,
        }),
    );
    describeRoute(app, each);
  }
  for (const [name, way] of Object.entries(SECURITY_SCHEMES)) {
    app.openAPIRegistry.registerComponent("securitySchemes", name, way);
  }
  app.notFound(({ req, env: { from } }) => {
    access.admit(req.raw, { scope: "read", from });
    throw missing(app, req.method, req.path);
  });
  app.onError((error, { req }) => {
    if (!(error instanceof ApiError)) {
      log.error("request failed", { method: req.method, path: req.path, error: error.stack ?? String(error) });
    }
    return problem(error);
  });
  return async (request, from) => {
    if (request.method === "OPTIONS") return preflight();
    const response = await app.fetch(request.method === "HEAD" ? asGet(request) : request, { from });
    return response.status === 101 ? response : finish(request, response);
  };
}

/** Security schemes of the API description. */
const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer" },
  header: { type: "apiKey", in: "header", name: "X-API-Key" },
  query: { type: "apiKey", in: "query", name: TOKEN_PARAMETER },
} as const;
/** The token is optional in the description: a server without configured tokens needs none. */
const TOKEN_OR_NONE = [{}, ...Object.keys(SECURITY_SCHEMES).map((way) => ({ [way]: [] }))];

/** Adds a row to the API description. */
function describeRoute(app: App, { method = "GET", path, summary, query, parts, body, replies }: Route): void {
  const canFail = !(isEmpty(query) && isEmpty(parts)) || body;
  const takesToken = !OPEN_PATHS.includes(path);
  app.openAPIRegistry.registerPath({
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
  });
}

function isEmpty({ shape }: z.ZodObject): boolean {
  return Object.keys(shape).length === 0;
}

/** GET requests made from HEAD requests. */
const heads = new WeakSet<Request>();

/** True if a GET was a HEAD: the endpoint must not open a stream for it. */
export function isHead(request: Request): boolean {
  return heads.has(request);
}

/** HEAD is answered as GET; the server below sends only the head and cancels the body. It opens no WebSocket. */
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
      ...describeHeaders(body === PROBLEM && RETRY_STATUS.includes(status) ? RETRY_AFTER : body?.[2]),
    }]),
  );
}

const RETRY_STATUS: readonly string[] = ["429", "503"];
const RETRY_AFTER = { "Retry-After": "Seconds to wait before a retry; left out if unknown" };

/** @param texts descriptions by header name */
function describeHeaders(texts: Readonly<Record<string, string>> = {}) {
  const headers = Object.entries(texts).map(([name, description]) => [name, { description, schema: STRING }]);
  return headers.length > 0 && { headers: Object.fromEntries(headers) };
}

const STRING = { type: "string" } as const;

/** 405 if the path exists for another method, else 404. */
function missing(app: App, method: string, path: string): ApiError {
  const allowed: string[] = METHODS.filter((each) => app.router.match(each, path)[0].length > 0);
  if (allowed.length === 0) return new ApiError(404, `There is nothing at "${path}": see /openapi.json`);
  if (allowed.includes("GET")) allowed.push("HEAD");
  allowed.push("OPTIONS");
  return new ApiError(405, `"${path}" does not support ${method}`, { headers: { Allow: allowed.join(", ") } });
}
