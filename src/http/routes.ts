import type { ListenAddress, Logger } from "../base/mod.ts";
import { Hono } from "hono";
import type { z } from "zod";
import { Access, type Caller, type Scope, urlWithoutToken } from "./auth.ts";
import { type BodyLimits, readBody } from "./bodies.ts";
import { noQuery, readParts, readQuery } from "./params.ts";
import { ApiError, finish, json, preflight, problem } from "./reply.ts";

/** What a path answers with, by status: media type and shape of the body, headers of its own; null without a body. */
export type Replies = Record<
  number,
  readonly [mediaType: string, schema: z.ZodType, headers?: Readonly<Record<string, string>>] | null
>;

/** Methods that change something; HEAD and OPTIONS come by themselves. */
export type Method = "GET" | "PUT" | "POST" | "DELETE";

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
type App = Hono<Origin>;

/** Serves a table of routes: HEAD on every GET, OPTIONS everywhere, errors as problems, `/openapi.json`. */
export function serveRoutes(
  table: RouteTable,
  { title, version, log, access = new Access(), ...limits }: ServeOptions,
): (request: Request, from?: ListenAddress) => Promise<Response> {
  const { maxBodyBytes: maxBytes = DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs: timeoutMs = DEFAULT_BODY_TIMEOUT_MS } =
    limits;
  const bodyLimits = { maxBytes, timeoutMs };
  const app: App = new Hono();
  let description: Promise<unknown> | undefined;
  const describe = async (): Promise<Response> => {
    const { describeApi } = await import("./api_description.ts");
    return json(await (description ??= describeApi(rows, { title, version })));
  };
  const openapi = route({
    path: "/openapi.json",
    summary: "This description",
    query: noQuery,
    replies: { 200: ["application/json", noQuery] },
    answer: describe,
  });
  const rows: RouteTable = [...table, openapi];
  for (const each of rows) {
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

/** 404, or 405 when the path exists for another method. */
function missing(app: App, method: string, path: string): ApiError {
  const allowed: string[] = METHODS.filter((each) => app.router.match(each, path)[0].length > 0);
  if (allowed.length === 0) return new ApiError(404, `There is nothing at "${path}": see /openapi.json`);
  if (allowed.includes("GET")) allowed.push("HEAD");
  allowed.push("OPTIONS");
  return new ApiError(405, `"${path}" does not take ${method}`, { headers: { Allow: allowed.join(", ") } });
}
