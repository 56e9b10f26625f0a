import { z } from "@hono/zod-openapi";
import type { Caller } from "./auth.ts";
import { ApiError, json, jsonList } from "./reply.ts";
import { eventsQuery, filterOf, filterQuery, noQuery, pgnPart, streamQuery } from "./params.ts";
import {
  decodedValuesSchema,
  deviceSchema,
  frameSchema,
  healthSchema,
  pgnSchema,
  pgnSummarySchema,
  PROBLEM,
  valuesSchema,
} from "./schemas.ts";
import { route, type RouteTable, routeWithParts } from "./routes.ts";
import { describePgn, listPgns } from "../pgn/mod.ts";
import type { Sessions } from "../stream/mod.ts";
import type { Health } from "./health.ts";
import type { Metrics } from "./metrics.ts";
import type { HistoryIndex } from "./history.ts";
import { historyRoute } from "./history_route.ts";
import { listDevices, listValues } from "./reads.ts";
import { roomForStream } from "./room.ts";
import { closedSendRoutes, SEND_DISABLED, type SendApi, sendFromSocket, sendRoutes } from "./send_routes.ts";
import { type SessionApi, sessionRoutes } from "./session_routes.ts";
import { EventStream } from "./sse.ts";
import { checkUpgrade, upgradeToStream } from "./websocket.ts";

/** What the boat's API is made of. */
export interface BoatApi extends Omit<SessionApi, "sessions"> {
  metrics: Metrics;
  /** Judges the server now. */
  health: () => Health;
  /** Limits that may change while running. */
  limits: () => { maxStreams: number; streamBufferBytes: number; maxHistory?: number };
  /** Sessions, where they are kept. */
  sessions?: Sessions;
  /** The way to the buses, where there are any. */
  sending?: Omit<SendApi, "broker">;
  /** The recording, where one is kept. */
  journal?: { index: HistoryIndex };
}

/** The boat server's API on one page. */
export function boatRoutes(api: BoatApi): RouteTable {
  const { broker, sessions } = api;
  return [
    route({
      path: "/events",
      summary: "Live frames as server-sent events, from the current head",
      query: eventsQuery,
      replies: { 200: ["text/event-stream", frameSchema], 503: PROBLEM },
      answer: (_, query) => openEvents(api, query),
    }),
    route({
      path: "/ws",
      summary: "Live frames over a WebSocket, as envelopes {type, data}",
      query: streamQuery,
      replies: {
        101: ["application/json", z.object({ type: z.string(), data: z.unknown() })],
        426: PROBLEM,
        503: PROBLEM,
      },
      answer: (request, query, _, { caller }) => openSocket(api, request, { query, caller }),
    }),
    route({
      path: "/devices",
      summary: "Every device heard on the buses",
      query: noQuery,
      replies: { 200: ["application/json", z.array(deviceSchema)] },
      answer: () => json(listDevices(broker)),
    }),
    route({
      path: "/values",
      summary: "The newest frame of every (device, PGN) pair",
      query: filterQuery,
      replies: { 200: ["application/json", z.array(valuesSchema)] },
      answer: (_, query) => jsonList(listValues(broker, filterOf(query))),
    }),
    route({
      path: "/values/decoded",
      summary: "The same with what each message is called and its decoded fields",
      query: filterQuery,
      replies: { 200: ["application/json", z.array(decodedValuesSchema)] },
      answer: (_, query) => jsonList(listValues(broker, filterOf(query), { decode: true })),
    }),
    historyRoute({ ...api, maxLimit: () => api.limits().maxHistory }),
    ...(sessions ? sessionRoutes({ ...api, sessions }) : []),
    ...(api.sending ? sendRoutes({ ...api, ...api.sending }) : closedSendRoutes()),
    ...pgnRoutes(),
    ...stateRoutes(api),
  ];
}

/** How the server itself does. */
function stateRoutes({ health, metrics }: BoatApi): RouteTable {
  return [
    ...(["/healthz", "/readyz"] as const).map((path) =>
      route({
        path,
        summary: path === "/healthz" ? "How the server does" : "Whether the server can do its work",
        query: noQuery,
        replies: { 200: ["application/json", healthSchema], 503: ["application/json", healthSchema] },
        answer: () => {
          const now = health();
          return json(now, now.status === "unhealthy" ? 503 : 200);
        },
      })
    ),
    route({
      path: "/livez",
      summary: "200 while the process runs",
      query: noQuery,
      replies: { 200: ["application/json", z.object({ status: z.literal("ok") })] },
      answer: () => json({ status: "ok" }),
    }),
    route({
      path: "/metrics",
      summary: "Prometheus metrics",
      query: noQuery,
      replies: { 200: ["text/plain", z.string()] },
      answer: async () => new Response(await metrics.text(), { headers: { "Content-Type": metrics.contentType } }),
    }),
  ];
}

/** What is known about PGNs: the same on every server. */
function pgnRoutes(): RouteTable {
  return [
    route({
      path: "/pgns",
      summary: "Every PGN that can be decoded",
      query: noQuery,
      replies: { 200: ["application/json", z.array(pgnSummarySchema)] },
      answer: () => jsonList(listPgns()),
    }),
    routeWithParts({
      path: "/pgns/{pgn}",
      summary: "The layouts of a PGN with their fields, units, ranges and labels",
      query: noQuery,
      parts: pgnPart,
      replies: { 200: ["application/json", pgnSchema], 404: PROBLEM },
      answer: (_request, _query, { pgn }) => {
        const description = describePgn(pgn);
        if (!description) throw new ApiError(404, `PGN ${pgn} is not described: see /pgns`);
        return json(description);
      },
    }),
  ];
}

function openEvents(api: BoatApi, query: z.output<typeof eventsQuery>): Response {
  const { bufferBytes } = roomForStream(api);
  const release = api.hub.take();
  let leave: () => void = () => {};
  const stream = new EventStream({
    clock: api.clock,
    bufferBytes,
    devices: query.devices,
    ended: () => {
      leave();
      release();
    },
  });
  leave = api.hub.join(stream, { filter: filterOf(query), decode: query.decode });
  return stream.response();
}

function openSocket(
  api: BoatApi,
  request: Request,
  { query, caller }: { query: z.output<typeof streamQuery>; caller: Caller },
): Response {
  checkUpgrade(request.headers);
  const { bufferBytes } = roomForStream(api);
  const wanted = { filter: filterOf(query), decode: query.decode };
  const release = api.hub.take();
  let leave: () => void = () => {};
  return upgradeToStream(request, {
    bufferBytes,
    send: (data) => api.sending ? sendFromSocket({ ...api, ...api.sending }, { data, caller }) : SEND_DISABLED,
    opened: (client) => leave = api.hub.join(client, wanted),
    refused: () => leave(),
    closed: () => {
      leave();
      release();
    },
  });
}
