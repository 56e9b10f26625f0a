import { z } from "zod";
import { urlWithoutToken } from "../auth.ts";
import { noQuery } from "../params.ts";
import { atOf, type PastSource, tablesAt } from "../past.ts";
import { ApiError, json } from "../reply.ts";
import { type About, type Method, type Route, type RouteTable, routeWithBody, routeWithParts } from "../routes.ts";
import { admitStream, type StreamAdmission } from "../streams/client_queue.ts";
import type { SeriesSource } from "../series/series.ts";
import { checkUpgrade } from "../streams/websocket.ts";
import type { SignalKTree } from "./server.ts";
import type { SignalK } from "./signalk.ts";
import { SERVER_ID, SERVER_VERSION } from "./vessel.ts";

/** Dependencies of Signal K. */
export interface SignalKApi extends StreamAdmission, PastSource, SeriesSource {
  /** Left out: Signal K is off. */
  signalk?: SignalK;
}

const [API, STREAM, HISTORY] = ["/signalk/v1/api", "/signalk/v1/stream", "/signalk/v2/api/history"] as const;
/** Why nothing can be changed. */
const READ_ONLY = "Nothing can be changed through Signal K";

const pathPart = z.object({ path: z.string() });
const loginBody = z.object({ username: z.string().optional(), password: z.string() });
/** The specification of Signal K describes its endpoints. */
const UNLISTED = { isUnlisted: true, summary: "Signal K", query: noQuery, replies: {} } as const;
/** What web apps ask for and nothing here has: plugins, tracks, and resources such as waypoints and charts. */
const EMPTY: readonly (readonly [path: string, reply: unknown])[] = [
  ["/plugins", []],
  ["/signalk/v1/api/tracks", {}],
  ["/signalk/v2/api/resources", {}],
  ["/signalk/v2/api/resources/{path*}", {}],
];

/** Endpoints of Signal K that need no token: a client finds out where the others are, and whether it must log in. */
export function signalkOpenRoutes(
  { prefix = "", parts = noQuery }: { prefix?: string; parts?: z.ZodObject } = {},
): RouteTable {
  const open = { ...UNLISTED, isOpen: true, parts } as const;
  return [
    routeWithParts({ ...open, path: `${prefix}/signalk`, answer: (request) => json(discover(request)) }),
    routeWithParts({ ...open, path: `${prefix}/signalk/`, answer: (request) => json(discover(request)) }),
    routeWithParts({
      ...open,
      path: `${prefix}/skServer/loginStatus`,
      answer: (_request, _query, _parts, about) => json(loginStatus(about)),
    }),
    routeWithBody({
      ...open,
      method: "POST",
      path: `${prefix}/signalk/v1/auth/login`,
      body: loginBody,
      answer: ({ password }, _parts, { access }) => {
        if (!access.isToken(password)) throw new ApiError(401, "The password is not a token of this server");
        return json({ token: password });
      },
    }),
    routeWithParts({
      ...open,
      method: "PUT",
      path: `${prefix}/signalk/v1/auth/logout`,
      // The token stays valid: it belongs to the settings.
      answer: () => state(200, "logged out"),
    }),
    routeWithParts({
      ...open,
      method: "POST",
      path: `${prefix}/signalk/v1/access/requests`,
      answer: () => state(501, "Access requests are not implemented: log in with a token of this server"),
    }),
  ];
}

/** Endpoints of Signal K of one boat. */
export const signalkRows: RouteTable<SignalKApi> = [
  row({ path: STREAM, answer: (request, _path, about) => openStream(request, about) }),
  ...EMPTY.map(([path, reply]) => row({ path, answer: () => json(reply) })),
  row({
    path: "/signalk/v2/features",
    answer: (_request, _path, { subject: { journal } }) => json({ apis: journal ? ["history"] : [], plugins: [] }),
  }),
  row({
    path: `${HISTORY}/_providers`,
    answer: (_request, _path, { subject: { journal } }) => json(journal ? { [SERVER_ID]: { isDefault: true } } : {}),
  }),
  ...(["values", "paths", "contexts"] as const).map((what) =>
    row({
      path: `${HISTORY}/${what}`,
      answer: (request, _path, { subject }) => openHistory(subject, { request, what }),
    })
  ),
  ...[API, `${API}/`].map((path) => row({ path, answer: (request, _path, { subject }) => readAll(subject, request) })),
  row({ path: `${API}/{path*}`, answer: (request, path, { subject }) => readPath(subject, { path, request }) }),
  row({ path: `${API}/{path*}`, method: "PUT", answer: () => state(405, READ_ONLY) }),
];

/** A row; `answer` receives the variable part of the path, empty where it has none. */
function row({ answer, ...rest }: {
  path: string;
  method?: Method;
  answer: (request: Request, path: string, about: About<SignalKApi>) => Response | Promise<Response>;
}): Route<SignalKApi> {
  return routeWithParts({
    ...UNLISTED,
    ...rest,
    parts: pathPart.partial(),
    answer: (request, _query, { path = "" }, about: About<SignalKApi>) => answer(request, path, about),
  });
}

async function readAll(api: SignalKApi, request: Request): Promise<Response> {
  const { tree, marked } = await treeOf(api, request);
  return marked(new Response(tree.readAll(), { headers: { "Content-Type": "application/json" } }));
}

async function readPath(api: SignalKApi, { path, request }: { path: string; request: Request }): Promise<Response> {
  const { tree, marked } = await treeOf(api, request);
  const found = tree.read(path.split("/").filter((part) => part !== ""));
  if (found === undefined) throw new ApiError(404, `There is no value at "${path}"`);
  return marked(json(found));
}

/** The tree of the newest values, or that of a time: the parameter `at`. */
async function treeOf(
  api: SignalKApi,
  request: Request,
): Promise<{ tree: SignalKTree; marked: (response: Response) => Response }> {
  const server = await started(api);
  const at = atOf(request);
  if (at === undefined) return { tree: server, marked: (response) => response };
  const { broker, marked } = await tablesAt(api, { at, request });
  return { tree: server.at(broker, at), marked };
}

async function openHistory(
  api: SignalKApi,
  wanted: { request: Request; what: "values" | "paths" | "contexts" },
): Promise<Response> {
  const { signalk } = api;
  if (!signalk) throw signalkOff();
  const { readHistory } = await import("./history.ts");
  return readHistory({ ...api, signalk }, wanted);
}

function signalkOff(): ApiError {
  return new ApiError(404, "Signal K is off: see -signalk");
}

/** @throws {ApiError} 404: Signal K is off */
async function started({ signalk }: SignalKApi) {
  if (!signalk) throw signalkOff();
  return await signalk.start();
}

function state(statusCode: number, message: string): Response {
  return json({ state: "COMPLETED", statusCode, message }, statusCode);
}

async function openStream(request: Request, { caller, subject }: About<SignalKApi>): Promise<Response> {
  checkUpgrade(request.headers);
  const server = await started(subject);
  const { bufferBytes } = admitStream(subject);
  const { firstSubscriptions } = await import("./messages.ts");
  const query = urlWithoutToken(request).searchParams;
  const wanted = query.get("subscribe") ?? "self";
  const subscribe = wanted === "all" || wanted === "none" ? wanted : "self";
  const subscriptions = firstSubscriptions({
    subscribe,
    metadata: query.get("sendMeta") === "all",
    sources: query.get("sourcePolicy") === "all" ? "all" : "preferred",
  });
  return server.open(request, {
    subscriptions,
    cached: query.get("sendCachedValues") !== "false",
    bufferBytes,
    caller,
  });
}

function discover(request: Request): unknown {
  const { protocol, host, pathname } = new URL(request.url);
  const base = `${host}${pathname.replace(/\/signalk\/?$/, "")}`;
  return {
    endpoints: {
      v1: {
        version: SERVER_VERSION,
        "signalk-http": `${protocol}//${base}${API}/`,
        "signalk-ws": `${protocol === "https:" ? "wss" : "ws"}://${base}${STREAM}`,
      },
    },
    server: { id: SERVER_ID, version: SERVER_VERSION },
  };
}

function loginStatus({ caller: { name, scopes }, access: { hasTokens } }: About): unknown {
  const isLoggedIn = hasTokens && scopes.includes("read");
  return {
    status: isLoggedIn ? "loggedIn" : "notLoggedIn",
    authenticationRequired: hasTokens,
    readOnlyAccess: !hasTokens,
    allowNewUserRegistration: false,
    allowDeviceAccessRequests: false,
    securityWasEnabled: hasTokens,
    ...(isLoggedIn && { username: name ?? "", userLevel: "readonly" }),
  };
}
