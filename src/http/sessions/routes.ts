import { described, named } from "../api_text.ts";
import { z } from "zod";
import { type Clock, formatDuration } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import {
  CLIENT_ID,
  ClientSessions,
  FallenBehindError,
  SessionError,
  type SessionErrorReason,
  type Sessions,
} from "../../stream/mod.ts";
import { ackBody, filterSchema, sessionBody } from "../bodies.ts";
import { noQuery, streamQuery } from "../params.ts";
import { listDevices } from "../reads.ts";
import { ApiError, json, RETRY_AFTER_S } from "../reply.ts";
import { admitStream, type StreamAdmission } from "../streams/client_queue.ts";
import { type About, isHead, type RouteTable, routeWithBody, routeWithParts } from "../routes.ts";
import { networkOf } from "../origin.ts";
import { deviceSchema, PROBLEM, streamSchema } from "../schemas.ts";
import { SessionEvents } from "./events.ts";
import { STREAM_HEADERS } from "../streams/sse.ts";

/** Problem type for a client that has fallen behind. */
export const FALLEN_BEHIND_TYPE = "urn:vessel:problem:ErrFallenBehind";

/** Dependencies of the session endpoints. */
export interface SessionApi extends StreamAdmission {
  broker: Broker;
  sessions: Sessions;
  /**
   * Called when a session was created, changed or deleted: resolves when that survives as much as can be had. Default: the answer does
   * not wait for the disk, which has it within a second.
   */
  saveSessions?: (() => Promise<void>) | undefined;
  clock: Clock;
}

const idPart = z.object({
  clientId: described(
    z.string().regex(CLIENT_ID, "expected 1 to 64 letters, digits, hyphens or underscores"),
    "Client-chosen id of the session",
  ),
});

const sessionHead = {
  client_id: z.string(),
  seq: described(z.int(), "Newest sequence number"),
  cursor: described(z.int(), "Next number to be delivered: the last acknowledged number plus 1"),
  buffer_timeout: described(z.string(), "How long the session is kept while its client is disconnected"),
  epoch: described(
    z.string().optional(),
    "Epoch of the sequence numbers, hex: numbers of different epochs are unrelated. Left out in a replay",
  ),
};
const createdSchema = named("Session", { ...sessionHead, devices: z.array(deviceSchema) });
const stateSchema = named("SessionState", {
  ...sessionHead,
  filter: filterSchema,
  streaming: described(z.boolean(), "True while a client is connected"),
  slot: described(z.boolean(), "True for a session defined in the settings"),
});

const managementRows: RouteTable<SessionApi> = [
  routeWithBody({
    method: "PUT",
    path: "/clients/{clientId}",
    summary: "Creates a session, or resumes it with a new filter and timeout",
    parts: idPart,
    body: sessionBody,
    replies: { 200: ["application/json", createdSchema], 404: PROBLEM, 429: PROBLEM, 503: PROBLEM },
    answer: async ({ buffer_timeout: timeoutMs, filter }, { clientId }, about) => {
      sessionsOf(about).put(clientId, { timeoutMs, filter: filter ?? {} });
      await about.subject.saveSessions?.();
      return json({ ...headOf(clientId, about), devices: listDevices(about.subject.broker) });
    },
  }),
  routeWithParts({
    path: "/clients/{clientId}",
    summary: "State of a session",
    query: noQuery,
    parts: idPart,
    replies: { 200: ["application/json", stateSchema], 404: PROBLEM },
    answer: (_request, _query, { clientId }, about) => {
      const { filter, isStreaming: streaming, isSlot: slot } = sessionsOf(about).get(clientId);
      return json({ ...headOf(clientId, about), filter, streaming, slot });
    },
  }),
  routeWithParts({
    method: "DELETE",
    path: "/clients/{clientId}",
    summary: "Deletes a session; a slot is reset",
    query: noQuery,
    parts: idPart,
    replies: { 204: null, 404: PROBLEM },
    answer: async (_request, _query, { clientId }, about) => {
      sessionsOf(about).delete(clientId);
      await about.subject.saveSessions?.();
      return new Response(null, { status: 204 });
    },
  }),
];

const readingRows: RouteTable<SessionApi> = [
  routeWithParts({
    path: "/clients/{clientId}/events",
    summary: "Frames from the session's cursor on, then live, as server-sent events",
    query: streamQuery.pick({ decode: true, labels: true }),
    parts: idPart,
    replies: { 200: ["text/event-stream", streamSchema], 404: PROBLEM, 410: PROBLEM, 503: PROBLEM },
    answer: (request, detail, { clientId }, about) => {
      const { broker, hub, clock } = about.subject;
      const sessions = sessionsOf(about);
      sessions.checkReadable(clientId);
      admitStream(about.subject);
      if (isHead(request)) return new Response(null, { headers: STREAM_HEADERS });
      const openStream = () => hub.openStream();
      const { json } = broker;
      return new SessionEvents(clientId, { ...detail, sessions, json, clock, openStream, memory: hub.memory })
        .response();
    },
  }),
  routeWithBody({
    method: "PUT",
    path: "/clients/{clientId}/ack",
    summary:
      "Acknowledges all frames up to a number. 503: the frames are not synced to disk yet, and the cursor is unchanged",
    parts: idPart,
    body: ackBody,
    replies: { 204: null, 404: PROBLEM, 503: PROBLEM },
    answer: async ({ seq }, { clientId }, about) => {
      await sessionsOf(about).ack(clientId, seq);
      return new Response(null, { status: 204 });
    },
  }),
];

/** Session endpoints. A session is a named cursor from which a client resumes after a disconnection. */
export const sessionRows: RouteTable<SessionApi> = [...managementRows, ...readingRows]
  .map(({ handle, ...row }) => ({
    ...row,
    ofSession: true,
    handle: (request, given) => asProblem(() => handle(request, given)),
  }));

/** The sessions that the caller may use. */
function sessionsOf({ subject: { sessions }, caller }: About<SessionApi>): ClientSessions {
  const { name: token, scopes, address } = caller;
  const network = networkOf(address);
  return new ClientSessions(sessions, { token, isAdmin: scopes.includes("admin"), network });
}

function headOf(id: string, about: About<SessionApi>) {
  const { broker, sessions: { epoch } } = about.subject;
  const { cursor, timeoutMs } = sessionsOf(about).get(id);
  const head = { client_id: id, seq: broker.head, cursor, buffer_timeout: formatDuration(timeoutMs) };
  return { ...head, ...(epoch !== "" && { epoch }) };
}

const STATUS: Record<SessionErrorReason, number> = {
  missing: 404,
  full: 503,
  "owner-full": 429,
  ahead: 400,
  not_durable: 503,
};

/** Maps session errors to problems. */
async function asProblem(work: () => Response | Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FallenBehindError) {
      const { message, oldestSeq } = error;
      const detail = `${message}; acknowledge ${oldestSeq - 1} to continue from there`;
      throw new ApiError(410, detail, { members: { type: FALLEN_BEHIND_TYPE, oldest_seq: oldestSeq } });
    }
    if (!(error instanceof SessionError)) throw error;
    const { message, reason } = error;
    throw new ApiError(STATUS[reason], message, {
      ...(reason === "ahead" && { members: { field: "seq" } }),
      ...([429, 503].includes(STATUS[reason]) && { headers: { "Retry-After": String(RETRY_AFTER_S) } }),
    });
  }
}
