import type { ListenAddress, Logger } from "../base/mod.ts";
import { Hono } from "hono";
import type { z } from "zod";
import { Access, type Caller, type Scope, urlWithoutToken } from "./auth.ts";
import { type BodyLimits, readBody } from "./bodies.ts";
import { type WebApp, webAppReply } from "./webapps.ts";
import { pageReply } from "./page/page.ts";
import { noQuery, readParts, readQuery } from "./params.ts";
import { SourceUnavailableError } from "../journal/mod.ts";
import { ApiError, finish, json, overloaded, preflight, problem } from "./reply.ts";

/** Replies of a path by status: media type, schema of the body and descriptions of headers; null: no body. */
export type Replies = Record<
  number,
  readonly [mediaType: string, schema: z.ZodType, headers?: Readonly<Record<string, string>>] | null
>;

/** Methods of route tables; HEAD and OPTIONS are added automatically. */
export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** One endpoint. */
interface RouteOptions<Query extends z.ZodObject, Parts extends z.ZodObject, Subject> {
  /** Default GET. */
  method?: Method;
  /** Variable parts are in braces: `/pgns/{pgn}`; the last one may be the rest of the path: `/api/{path*}`. */
  path: string;
  summary: string;
  /** Required scope; default `read`. `send` is closed to pages of other origins. */
  scope?: Scope;
  /** No token is needed, whatever the scope; default false. */
  isOpen?: boolean;
  /** It is specified elsewhere, and left out of the API description; default false. */
  isUnlisted?: boolean;
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
  /** The access control. */
  access: Pick<Access, "isToken" | "hasTokens">;
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
    handle: (request, { parts, ...about }) =>
      answer(request, readQuery(urlWithoutToken(request), rest.query), readParts(parts, rest.parts), about),
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
    handle: async (request, { parts, bodyLimits, ...about }) => {
      const checked = readParts(parts, rest.parts);
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
  /** Web apps that are served, too; default none. */
  webApps?: readonly WebApp[];
  /** Receives unexpected errors of requests. */
  log: Logger;
}

/** Default maximum body size, bytes. */
export const DEFAULT_MAX_BODY_BYTES = 65_536;
/** Default maximum time for receiving a body, milliseconds. */
export const DEFAULT_BODY_TIMEOUT_MS = 30_000;

type Origin = { Bindings: { from: ListenAddress | undefined } };
type App = Hono<Origin>;

/** Serves a route table, with HEAD for every GET, OPTIONS everywhere, errors as problems, and `/openapi.json`. */
export function serveRoutes(
  table: RouteTable,
  { title, version, log, access = new Access(), webApps = [], ...limits }: ServeOptions,
): (request: Request, from?: ListenAddress) => Promise<Response> {
  const { maxBodyBytes: maxBytes = DEFAULT_MAX_BODY_BYTES, bodyTimeoutMs: timeoutMs = DEFAULT_BODY_TIMEOUT_MS } =
    limits;
  const bodyLimits = { maxBytes, timeoutMs };
  const app: App = new Hono();
  let description: Promise<unknown> | undefined;
  const describe = async (): Promise<Response> => {
    const { describeApi } = await import("./api_description.ts");
    return json(await (description ??= describeApi(rows.filter(({ isUnlisted }) => !isUnlisted), { title, version })));
  };
  const openapi = route({
    path: "/openapi.json",
    summary: "This API description",
    query: noQuery,
    replies: { 200: ["application/json", noQuery] },
    answer: describe,
  });
  const rows: RouteTable = [...table, openapi];
  for (const each of rows) {
    const { method = "GET", path, scope = "read", isOpen = false, ofSession = false, handle } = each;
    app.on(
      method,
      path.replace(/\{(\w+)\}/g, ":$1").replace(/\{(\w+)\*\}/, ":$1{.+}"),
      ({ req, env: { from } }) =>
        handle(req.raw, {
          caller: access.admit(req.raw, { scope, isOpen, ofSession, from }),
          access,
          subject: undefined,
          parts: req.param(),
          bodyLimits,
        }),
    );
  }
  const apps = webApps.filter(({ path, name }) => {
    const isTaken = rows.some((row) => path.split("/")[1] === row.path.split("/")[1]);
    if (isTaken) log.warn("web app not served: its path is the server's own", { app: name });
    return !isTaken;
  });
  const openPaths = new Set(rows.flatMap(({ isOpen, path }) => isOpen ? [path] : []));
  app.notFound(({ req, env: { from } }) => {
    access.admit(req.raw, { scope: "read", isOpen: openPaths.has(req.path), from });
    throw missing(app, req.method, req.path);
  });
  app.onError((error, { req }) => {
    if (error instanceof SourceUnavailableError) {
      return problem(overloaded(`The frames cannot be read now: ${error.message}`));
    }
    if (!(error instanceof ApiError)) {
      log.error("request failed", { method: req.method, path: req.path, error: error.stack ?? String(error) });
    }
    return problem(error);
  });
  return async (request, from) => {
    if (request.method === "OPTIONS") return preflight();
    const page = await pageReply(request) ?? await webAppReply(apps, request);
    if (page) return page;
    const response = await app.fetch(request.method === "HEAD" ? asGet(request) : request, { from });
    return response.status === 101 ? response : finish(request, response);
  };
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

/** 404, or 405 when the path exists for another method. */
function missing(app: App, method: string, path: string): ApiError {
  const allowed: string[] = METHODS.filter((each) => app.router.match(each, path)[0].length > 0);
  if (allowed.length === 0) return new ApiError(404, `There is nothing at "${path}": see /openapi.json`);
  if (allowed.includes("GET")) allowed.push("HEAD");
  allowed.push("OPTIONS");
  return new ApiError(405, `"${path}" does not support ${method}`, { headers: { Allow: allowed.join(", ") } });
}
