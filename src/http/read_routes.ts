import { z } from "zod";
import type { Caller } from "./auth.ts";
import { blocksRow, clockRow } from "./history/blocks.ts";
import { historyRow, type HistorySource } from "./history/history.ts";
import { decodedQuery, devicesQuery, eventsQuery, filterOf, streamQuery, valuesQuery } from "./params.ts";
import { type PastSource, SINCE_HEADERS, tablesAt } from "./past.ts";
import { listDevices, listValues } from "./reads.ts";
import { json, jsonList } from "./reply.ts";
import { admitStream, type StreamAdmission } from "./streams/client_queue.ts";
import { route, type RouteTable } from "./routes.ts";
import { decodedValuesSchema, labelledDeviceSchema, PROBLEM, streamSchema, valuesSchema } from "./schemas.ts";
import { SEND_DISABLED, type SendApi, sendFromSocket } from "./send/routes.ts";
import { sourceRows } from "./source_routes.ts";
import { type SignalKApi, signalkRows } from "./signalk/routes.ts";
import { seriesRow, type SeriesSource } from "./series/series.ts";
import { EventStream } from "./streams/sse.ts";
import { checkUpgrade, upgradeToStream } from "./streams/websocket.ts";
import { voyageRows } from "./voyages/routes.ts";

/** Dependencies of the reading endpoints of one boat. */
export interface ReadApi extends StreamAdmission, HistorySource, PastSource, SeriesSource, SignalKApi {
  /** Left out: the server cannot send. */
  sending?: Omit<SendApi, "broker">;
}

/** Reading endpoints of one boat: the same on the boat and in the cloud. */
export const readRows: RouteTable<ReadApi> = [
  route({
    path: "/events",
    summary: "Live frames as server-sent events, starting with the next frame",
    query: eventsQuery,
    replies: { 200: ["text/event-stream", streamSchema], 503: PROBLEM },
    answer: (_request, query, _parts, { subject }) => openEvents(subject, query),
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
    answer: (request, query, _parts, { caller, subject }) => openSocket(subject, request, { query, caller }),
  }),
  route({
    path: "/devices",
    summary: "All devices seen on the buses",
    query: devicesQuery,
    replies: { 200: ["application/json", z.array(labelledDeviceSchema), SINCE_HEADERS], 404: PROBLEM, 503: PROBLEM },
    answer: async (request, { at, labels }, _parts, { subject }) => {
      const { broker, marked, isCounted } = await tablesAt(subject, { at, request });
      return marked(json(listDevices(broker, { labels, isCounted })));
    },
  }),
  route({
    path: "/values",
    summary: "The newest frame of every (device, PGN) pair",
    query: valuesQuery,
    replies: { 200: ["application/json", z.array(valuesSchema), SINCE_HEADERS], 404: PROBLEM, 503: PROBLEM },
    answer: async (request, { at, ...query }, _parts, { subject }) => {
      const { broker, marked } = await tablesAt(subject, { at, request });
      return marked(jsonList(listValues(broker, filterOf(query))));
    },
  }),
  route({
    path: "/values/decoded",
    summary: "The newest frame of every (device, PGN) pair, with its description and decoded fields",
    query: decodedQuery,
    replies: { 200: ["application/json", z.array(decodedValuesSchema), SINCE_HEADERS], 404: PROBLEM, 503: PROBLEM },
    answer: async (request, { at, labels, ...query }, _parts, { subject }) => {
      const { broker, marked } = await tablesAt(subject, { at, request });
      return marked(jsonList(listValues(broker, filterOf(query), { decode: true, labels })));
    },
  }),
  historyRow,
  blocksRow,
  clockRow,
  ...sourceRows,
  seriesRow,
  ...voyageRows,
  ...signalkRows,
];

function openEvents(api: ReadApi, query: z.output<typeof eventsQuery>): Response {
  const { bufferBytes } = admitStream(api);
  const release = api.hub.openStream();
  let leave: () => void = () => {};
  const stream = new EventStream({
    clock: api.clock,
    bufferBytes,
    memory: api.hub.memory,
    devices: query.devices,
    sources: query.sources,
    ended: () => {
      leave();
      release();
    },
  });
  const { decode, labels, batch_ms: batchMs } = query;
  leave = api.hub.join(stream, { filter: filterOf(query), decode, labels, batchMs });
  return stream.response();
}

function openSocket(
  api: ReadApi,
  request: Request,
  { query, caller }: { query: z.output<typeof streamQuery>; caller: Caller },
): Response {
  checkUpgrade(request.headers);
  const { bufferBytes } = admitStream(api);
  const wanted = { filter: filterOf(query), decode: query.decode, labels: query.labels };
  const release = api.hub.openStream();
  let leave: () => void = () => {};
  return upgradeToStream(request, {
    bufferBytes,
    memory: api.hub.memory,
    send: (data) => api.sending ? sendFromSocket({ ...api, ...api.sending }, { data, caller }) : SEND_DISABLED,
    opened: (client) => leave = api.hub.join(client, wanted),
    refused: () => leave(),
    closed: () => {
      leave();
      release();
    },
  });
}
