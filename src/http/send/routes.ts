import type { z } from "zod";
import type { Broker } from "../../broker/mod.ts";
import {
  type Queries,
  type QueryOutcome,
  type Sender,
  SendError,
  type SendGate,
  type SendRefusal,
} from "../../transmit/mod.ts";
import { type Caller, FOREIGN_ORIGIN } from "../auth.ts";
import { checkBody } from "../bodies.ts";
import { noQuery } from "../params.ts";
import { ApiError, overloaded, RETRY_AFTER_S } from "../reply.ts";
import { route, type RouteTable, routeWithBody } from "../routes.ts";
import { frameSchema, PROBLEM } from "../schemas.ts";
import { messagesOf, queryBody, queryOf, sendBody } from "./body.ts";

/** Dependencies of the send endpoints. */
export interface SendApi {
  broker: Broker;
  gate: SendGate;
  queries: Queries;
  /** Limits that may change while running. */
  queryLimits: () => { maxTimeoutMs: number; maxQueries: number };
}

/** Error text of a server without a bus. */
export const SEND_DISABLED = "send is disabled";
/** Audit outcome of an invalid request. */
const BAD_REQUEST = "bad-request";
const PATHS = ["/send", "/query"] as const;

/** The send endpoints of a server without a bus: always 403. */
export function closedSendRoutes(): RouteTable {
  return PATHS.map((path) =>
    route({
      method: "POST",
      path,
      summary: path === "/send" ? "Sends messages: disabled" : "Requests a PGN from devices: disabled",
      query: noQuery,
      replies: { 403: PROBLEM },
      answer: () => {
        throw new ApiError(403, SEND_DISABLED);
      },
    })
  );
}

/** The endpoints `POST /send` and `POST /query`. */
export function sendRoutes(api: SendApi): RouteTable {
  const { broker, gate } = api;
  const refusals = { 403: PROBLEM, 429: PROBLEM, 503: PROBLEM };
  const refused = (via: string) => ({ message }: ApiError, { caller }: { caller: Caller }) =>
    gate.auditRefusal(senderOf(caller, via), { outcome: BAD_REQUEST, why: message });
  const admit = (via: string) => ({ caller }: { caller: Caller }) => asProblem(() => gate.admit(senderOf(caller, via)));
  return [
    routeWithBody({
      method: "POST",
      path: "/send",
      summary: "Queues one message, or a list of messages, for transmission",
      scope: "send",
      parts: noQuery,
      body: sendBody,
      admit: admit("/send"),
      refused: refused("/send"),
      replies: { 202: null, ...refusals },
      answer: (body, _, { caller }) =>
        asProblem(() => {
          // The audit log has the outcome.
          gate.send(messagesOf(body, broker.buses), senderOf(caller, "/send")).catch(() => {});
          return new Response(null, { status: 202 });
        }),
    }),
    routeWithBody({
      method: "POST",
      path: "/query",
      summary: "Requests a PGN from devices and returns the first frame received",
      scope: "send",
      parts: noQuery,
      body: queryBody,
      admit: admit("/query"),
      refused: refused("/query"),
      replies: { 200: ["application/json", frameSchema], ...refusals, 502: PROBLEM, 504: PROBLEM },
      answer: (body, _, { caller }) => query(api, { body, caller }),
    }),
  ];
}

async function query(
  { broker, gate, queries, queryLimits }: SendApi,
  { body, caller }: { body: z.output<typeof queryBody>; caller: Caller },
): Promise<Response> {
  const { maxTimeoutMs, maxQueries } = queryLimits();
  const wanted = queryOf(body, { buses: broker.buses, maxTimeoutMs });
  const sender = senderOf(caller, "/query");
  if (queries.open >= maxQueries) {
    const why = `All ${maxQueries} queries are in use: see -max-queries`;
    gate.auditRefusal(sender, { outcome: "full", why });
    throw overloaded(why);
  }
  const outcome = await asProblem(() => queries.ask(wanted, sender));
  if (outcome.kind !== "answered") throw unanswered(outcome);
  const text = body.decode ? broker.json.decodedOf(outcome.seq) : broker.json.of(outcome.seq);
  if (text === undefined) {
    throw new ApiError(502, "The answer was overwritten before it could be read: retry the request");
  }
  return new Response(text, { headers: { "Content-Type": "application/json" } });
}

/** Reasons of ISO 11783-3 §5.4.5 by control byte. */
const REFUSALS: Record<number, string> = {
  1: "PGN not available",
  2: "access denied",
  3: "cannot respond now",
};

function unanswered(outcome: Exclude<QueryOutcome, { kind: "answered" }>): ApiError {
  switch (outcome.kind) {
    case "refused": {
      const { src, control } = outcome;
      return new ApiError(502, `Device ${src} refused the request: ${REFUSALS[control] ?? `control byte ${control}`}`, {
        members: { src, control },
      });
    }
    case "timeout":
      return new ApiError(504, "No device answered in time");
    case "failed":
      return overloaded(`The request could not be sent: ${outcome.why}`);
  }
}

/**
 * Sends the messages in a client's WebSocket envelope.
 *
 * @returns why nothing was sent; undefined when it is queued
 */
export function sendFromSocket(
  { broker, gate }: Pick<SendApi, "broker" | "gate">,
  { data, caller }: { data: unknown; caller: Caller },
): string | undefined {
  const sender = senderOf(caller, "/ws");
  const auditRefusal = (outcome: string, why: string) => {
    gate.auditRefusal(sender, { outcome, why });
    return why;
  };
  try {
    gate.admit(sender);
    if (caller.scopes.length === 0) return auditRefusal("unknown", "The token is no longer valid");
    if (!caller.scopes.includes("send")) {
      return auditRefusal("scope", `The token "${caller.name}" does not have the scope "send"`);
    }
    if (!caller.originAllowed) return auditRefusal("origin", FOREIGN_ORIGIN);
    gate.send(messagesOf(checkBody(data, sendBody), broker.buses), sender).catch(() => {});
    return undefined;
  } catch (error) {
    if (error instanceof SendError) return error.message;
    if (error instanceof ApiError) return auditRefusal(BAD_REQUEST, error.message);
    throw error;
  }
}

function senderOf({ address, name }: Caller, via: string): Sender {
  return { address, name, via };
}

const STATUS: Record<SendRefusal, number> = {
  disabled: 403,
  "read-only": 403,
  policy: 403,
  rate: 429,
  address: 503,
  bus: 503,
  full: 503,
  "too-long": 400,
};

/** Maps a {@linkcode SendError} to a problem. */
async function asProblem<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof SendError ? refusalOf(error) : error;
  }
}

function refusalOf({ reason, message, retryAfterMs }: SendError): ApiError {
  const status = STATUS[reason];
  const mayRetry = status === 429 || status === 503;
  const seconds = Number.isFinite(retryAfterMs) ? Math.max(1, Math.ceil(retryAfterMs / 1000)) : RETRY_AFTER_S;
  return new ApiError(status, message, mayRetry ? { headers: { "Retry-After": String(seconds) } } : {});
}
