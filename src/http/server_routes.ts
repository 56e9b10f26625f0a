import { z } from "zod";
import { describePgn, listPgns, type PgnDescription, spansOfPayload } from "../pgn/mod.ts";
import { noQuery, payloadQuery, pgnPart } from "./params.ts";
import { atOf } from "./past.ts";
import { ApiError, json, jsonList } from "./reply.ts";
import { type About, route, type RouteTable, routeWithParts } from "./routes.ts";
import { fieldSpanSchema, pgnSchema, pgnSummarySchema, PROBLEM, statusSchema } from "./schemas.ts";

/** Dependencies of the health and metrics endpoints. */
export interface StateApi {
  /** Evaluates the current health. */
  health: () => { status: "ok" | "degraded" | "unhealthy" };
  /** What the journal says of the health at a time, microseconds since 1970; left out: nothing is recorded. */
  healthAt?: ((at: number, request: Request) => Promise<Response>) | undefined;
  /** Schema of the health body. */
  healthSchema: z.ZodObject;
  /** True while the server ends its connections before it stops; left out: it never drains. */
  isDraining?: () => boolean;
  /** The text of `/metrics`. */
  metrics: (about: About) => Response | Promise<Response>;
}

/** Health and metrics endpoints. */
export function stateRoutes({ health, healthAt, healthSchema, isDraining, metrics }: StateApi): RouteTable {
  return [
    route({
      path: "/healthz",
      isOpen: true,
      summary: "Health of the server and its components; with at: what the journal says of a time",
      query: noQuery,
      replies: { 200: ["application/json", healthSchema], 503: ["application/json", healthSchema] },
      answer: (request, _query, _parts, { caller: { scopes } }) => {
        // Other parameters are ignored: load balancers and browsers add some.
        const at = atOf(request);
        if (at === undefined) return healthReply(health());
        if (!healthAt) throw new ApiError(404, "This server has no journal that says what its health was");
        if (!scopes.includes("read")) throw new ApiError(401, "The health of a time needs a token with the scope read");
        return healthAt(at, request);
      },
    }),
    route({
      path: "/readyz",
      isOpen: true,
      summary: `Readiness: 503 while the server is unhealthy${isDraining ? " or draining" : ""}`,
      query: noQuery,
      replies: {
        200: ["application/json", healthSchema],
        503: ["application/json", isDraining ? withDraining(healthSchema) : healthSchema],
      },
      answer: () => isDraining?.() ? json({ ...health(), status: "draining" }, 503) : healthReply(health()),
    }),
    route({
      path: "/livez",
      isOpen: true,
      summary: "Liveness: 200 while the process runs",
      query: noQuery,
      replies: { 200: ["application/json", z.object({ status: z.literal("ok") })] },
      answer: () => json({ status: "ok" }),
    }),
    route({
      path: "/metrics",
      summary: "Prometheus metrics",
      query: noQuery,
      replies: { 200: ["text/plain", z.string()] },
      answer: (_request, _query, _parts, about) => metrics(about),
    }),
  ];
}

function healthReply(now: ReturnType<StateApi["health"]>): Response {
  return json(now, now.status === "unhealthy" ? 503 : 200);
}

function withDraining(healthSchema: z.ZodObject): z.ZodObject {
  return healthSchema.extend({ status: z.enum([...statusSchema.options, "draining"]) });
}

/** Endpoints that describe PGNs, the same on every server. */
export function pgnRoutes(): RouteTable {
  return [
    route({
      path: "/pgns",
      summary: "All PGNs that the server can decode",
      query: noQuery,
      replies: { 200: ["application/json", z.array(pgnSummarySchema)] },
      answer: () => jsonList(listPgns()),
    }),
    routeWithParts({
      path: "/pgns/{pgn}",
      summary: "Layouts of a PGN with fields, units, ranges and labels",
      query: noQuery,
      parts: pgnPart,
      replies: { 200: ["application/json", pgnSchema], 404: PROBLEM },
      answer: (_request, _query, { pgn }) => json(describedPgn(pgn)),
    }),
    routeWithParts({
      path: "/pgns/{pgn}/spans",
      summary: "Which bits of a payload the decoded fields are read from",
      query: payloadQuery,
      parts: pgnPart,
      replies: { 200: ["application/json", z.array(fieldSpanSchema)], 404: PROBLEM },
      answer: (_request, { data }, { pgn }) => {
        describedPgn(pgn);
        return jsonList(spansOfPayload(pgn, data));
      },
    }),
  ];
}

/** @throws {ApiError} 404 */
function describedPgn(pgn: number): PgnDescription {
  const description = describePgn(pgn);
  if (!description) throw new ApiError(404, `PGN ${pgn} is not described: see /pgns`);
  return description;
}
