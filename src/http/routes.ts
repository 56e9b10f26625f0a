import type { ListenAddress, Logger } from "../base/mod.ts";
import { OpenAPIHono, type z } from "@hono/zod-openapi";
import { Access, type Caller, OPEN_PATHS, type Scope, TOKEN_PARAMETER, urlWithoutToken } from "./auth.ts";
import { type BodyLimits, readBody } from "./bodies.ts";
import { noQuery, readParts, readQuery } from "./params.ts";
import { ApiError, finish, json, preflight, problem } from "./reply.ts";
import { PROBLEM } from "./schemas.ts";

/** What a path answers with, by status: media type and shape of the body, headers of its own; null without a body. */
type Replies = Record<
  number,
  readonly [mediaType: string, schema: z.ZodType, headers?: Readonly<Record<string, string>>] | null
>;

/** Methods that change something; HEAD and OPTIONS come by themselves. */
type Method = "GET" | "PUT" | "POST" | "DELETE";

/** One endpoint. */
interface RouteOptions<Query extends z.ZodObject, Parts extends z.ZodObject, Subject> {
  /** Default GET. */
  method?: Method;
  /** Parts of it that vary are named in braces: `/pgns/{pgn}`. */
  path: string;
  summary: string;
  /** What a token must be good for; default `read`. What takes `send` is closed to pages of other origins. */
  scope?: Scope;
  /** It is about a session, which pages of other origins may not use, either; default false. */
  ofSession?: boolean;
  /** Checks the parts of the path that vary. */
  parts: Parts;
  /** Checks the query string, and is what the API description prints. */
  query: Query;
  replies: Replies;
  answer: (
    request: Request,
    query: z.output<Query>,
    parts: z.output<Parts>,
    about: About<Subject>,
  ) => Response | Promise<Response>;
}

/** What an answer may want to know besides what was asked. */
export interface About<Subject = undefined> {
  /** Who asks. */
  caller: Caller;
  /** What the question is about, where one row serves several: see {@linkcode bindRows}. */
  subject: Subject;
}

/** One endpoint, ready to be served. */
export interface Route<Subject = undefined> extends Omit<RouteOptions<z.ZodObject, z.ZodObject, Subject>, "answer"> {
  /** Checks the body, and is what the API description prints. */
  body?: z.ZodType;
  /** Answers a request; `parts` are the parts of its path that vary, unchecked. */
  handle: (request: Request, given: Given<Subject>) => Response | Promise<Response>;
}

/** What a request is answered with besides itself. */
export interface Given<Subject = undefined> extends About<Subject> {
  /** Parts of the path that vary, unchecked. */
  parts: Record<string, string>;
  /** Longest body that is read, and for how long. */
  bodyLimits: BodyLimits;
}

/** Endpoints; without a subject, all that a server has. */
export type RouteTable<Subject = undefined> = readonly Route<Subject>[];

/** Makes a row of the table; the answer gets the query checked. */
export function route<Query extends z.ZodObject, Subject = undefined>(
  options: Omit<RouteOptions<Query, typeof noQuery, Subject>, "parts">,
): Route<Subject> {
  return routeWithParts({ ...options, parts: noQuery });
}

/** Makes a row whose path has parts that vary; the answer gets them checked too. */
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

/** Rows that are about one thing alone: what they tell of is `subject`. */
export function bindRows<Subject>(rows: RouteTable<Subject>, subject: Subject): RouteTable {
  return rows.map(({ handle, ...rest }) => ({
    ...rest,
    handle: (request, given) => handle(request, { ...given, subject }),
  }));
}

/** Makes a row that takes a JSON body; the answer gets it checked, and the parts of the path. */
export function routeWithBody<Body extends z.ZodType, Parts extends z.ZodObject, Subject = undefined>(
  { answer, admit, refused, body, ...rest }: Omit<RouteOptions<typeof noQuery, Parts, Subject>, "answer" | "query"> & {
    body: Body;
    /** Throws where the body need not be read. */
    admit?: (about: About<Subject>) => void | Promise<void>;
    /** Told of a request that is refused for what it says, with 400, 408 or 413. */
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

/** How a table of routes is served. */
export interface ServeOptions {
  /** What the server calls itself in its API description. */
  title: string;
  /** Version of the server. */
  version: string;
  /** Longest body that is read; default {@linkcode DEFAULT_MAX_BODY_BYTES}. */
  maxBodyBytes?: number;
  /** Longest time that a body may take, milliseconds; default {@linkcode DEFAULT_BODY_TIMEOUT_MS}. */
  bodyTimeoutMs?: number;
  /** Who may ask for what; default everybody for everything, but for pages of other origins. */
  access?: Access;
  /** Gets what made a request fail that should not have. */
  log: Logger;
}

/** Longest body that is read when nothing else is said. */
export const DEFAULT_MAX_BODY_BYTES = 65_536;
/** Longest time that a body may take when nothing else is said. */
export const DEFAULT_BODY_TIMEOUT_MS = 30_000;

/** Where a request comes from. */
type Origin = { Bindings: { from: ListenAddress | undefined } };
type App = OpenAPIHono<Origin>;

/** Serves a table of routes: HEAD on every GET, OPTIONS everywhere, errors as problems, `/openapi.json`. */
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
    summary: "This description",
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
  for (const [name, way] of Object.entries(TOKEN_WAYS)) {
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

/** Ways to give a token, as the API description names them. */
const TOKEN_WAYS = {
  bearer: { type: "http", scheme: "bearer" },
  header: { type: "apiKey", in: "header", name: "X-API-Key" },
  query: { type: "apiKey", in: "query", name: TOKEN_PARAMETER },
} as const;
/** Without tokens in the settings nobody needs one. */
const TOKEN_OR_NONE = [{}, ...Object.keys(TOKEN_WAYS).map((way) => ({ [way]: [] }))];

/** Puts a row into the API description. */
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
      ...describeHeaders(body === PROBLEM && RETRY_STATUS.includes(status) ? RETRY_AFTER : body?.[2]),
    }]),
  );
}

const RETRY_STATUS: readonly string[] = ["429", "503"];
const RETRY_AFTER = { "Retry-After": "Seconds until another try makes sense; left out where that is not known" };

/** @param texts what each header says, by its name */
function describeHeaders(texts: Readonly<Record<string, string>> = {}) {
  const headers = Object.entries(texts).map(([name, description]) => [name, { description, schema: STRING }]);
  return headers.length > 0 && { headers: Object.fromEntries(headers) };
}

const STRING = { type: "string" } as const;

/** 404, or 405 when the path exists for another method. */
function missing(app: App, method: string, path: string): ApiError {
  const allowed: string[] = METHODS.filter((each) => app.router.match(each, path)[0].length > 0);
  if (allowed.length === 0) return new ApiError(404, `There is nothing at "${path}": see /openapi.json`);
  if (allowed.includes("GET")) allowed.push("HEAD");
  allowed.push("OPTIONS");
  return new ApiError(405, `"${path}" does not take ${method}`, { headers: { Allow: allowed.join(", ") } });
}
