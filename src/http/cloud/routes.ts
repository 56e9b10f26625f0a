import { apiText } from "../api_text.ts";
import { z } from "zod";
import { type Instance, type Instances, MAX_DIAGNOSTIC_EVENTS } from "../../cloud/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import type { Caller } from "../auth.ts";
import type { CloudHealth } from "./health.ts";
import { METRICS_TYPE } from "../status/figure.ts";
import type { CloudMetrics } from "./metrics.ts";
import {
  cloudHealthSchema,
  describeInstance,
  describeStatus,
  instancesSchema,
  instanceStatusSchema,
  replicationEventsSchema,
} from "./schemas.ts";
import { type Home, homeRoute, SERVER_LINKS } from "../page/home_route.ts";
import { ledgerQuery, ledgerSchema } from "../ledger.ts";
import { CLOUD_LEDGER_SUMMARY, ledgerReply } from "./ledger.ts";
import { boundedList, noQuery } from "../params.ts";
import { proofSchema } from "../proof.ts";
import { proofInCloud } from "./proof.ts";
import { readRows } from "../read_routes.ts";
import type { ReplicaApi, ReplicaReaders } from "./replica_readers.ts";
import { ApiError, json, jsonList, slices } from "../reply.ts";
import { type About, type Route, route, type RouteTable, routeWithParts } from "../routes.ts";
import { signalkOpenRoutes } from "../signalk/routes.ts";
import { PROBLEM } from "../schemas.ts";
import { pgnRoutes, stateRoutes } from "../server_routes.ts";
import { sessionRows } from "../sessions/routes.ts";

/** Dependencies of the cloud's API. */
export interface CloudApi {
  instances: Instances;
  readers: ReplicaReaders;
  metrics: CloudMetrics;
  /** Evaluates the current health. */
  health: () => CloudHealth;
  /** True while boats are disconnected before the server stops; left out: never. */
  isDraining?: () => boolean;
  /** Name and version of the server. */
  server: { name: string; version: string };
}

const DEFAULT_EVENTS = 100;

const idPart = z.object({
  id: z.string().clone().register(apiText, {
    description: "Id of the boat",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
  }),
});

/** `limit` has no maximum in the check: larger values mean all stored events. */
const eventsQuery = z.object({
  limit: boundedList(
    z.string().regex(/^0*[1-9]\d*$/, { error: ({ input }) => `expected a whole number of at least 1, got "${input}"` }),
  ).optional()
    .transform((limits) => Math.min(Number(limits?.at(-1) ?? DEFAULT_EVENTS), MAX_DIAGNOSTIC_EVENTS))
    .clone().register(apiText, {
      type: "integer",
      minimum: 1,
      default: DEFAULT_EVENTS,
      description: `Maximum number of events; larger values mean ${MAX_DIAGNOSTIC_EVENTS}`,
    }),
});

/** Endpoints of one boat, the same as on the boat itself. */
const replicaRows: RouteTable<ReplicaApi> = [...readRows, ...sessionRows];

/** All endpoints of the cloud. A token limited to some instances sees only those in every reply. */
export function cloudRoutes(api: CloudApi): RouteTable {
  const { metrics } = api;
  return [
    homeRoute(() => cloudHome(api)),
    route({
      path: "/instances",
      summary: "All boats and their replication progress",
      query: noQuery,
      replies: { 200: ["application/json", instancesSchema] },
      answer: async (_request, _query, _parts, { caller }) => {
        const visible = visibleInstances(api, caller);
        await Promise.all(visible.map((instance) => instance.recovered()));
        return jsonList(summariesOf(visible), { member: "instances" });
      },
    }),
    routeWithParts({
      path: "/instances/{id}/status",
      summary: "Replication status of a boat",
      query: noQuery,
      parts: idPart,
      replies: { 200: ["application/json", instanceStatusSchema], 404: PROBLEM },
      answer: async (_request, _query, { id }, about) => {
        const instance = find(api, id, about);
        await instance.recovered();
        return json(describeStatus(instance.summary()));
      },
    }),
    routeWithParts({
      path: "/instances/{id}/proof",
      summary: "Frames that the boat has numbered, that are in the cloud, and that are missing, with the reasons",
      query: noQuery,
      parts: idPart,
      replies: { 200: ["application/json", proofSchema], 404: PROBLEM },
      answer: async (_request, _query, { id }, about) => {
        const instance = find(api, id, about);
        await instance.recovered();
        return json(proofInCloud(instance.summary()));
      },
    }),
    ledgerRow(api),
    routeWithParts({
      path: "/instances/{id}/replication/events",
      summary: "Replication events of a boat, newest first",
      query: eventsQuery,
      parts: idPart,
      replies: { 200: ["application/json", replicationEventsSchema], 404: PROBLEM },
      answer: async (_request, { limit }, { id }, about) => {
        const events = await find(api, id, about).events.list(limit);
        return json(
          events.map(({ timeMs, type, detail }) => ({ time: formatTimeUs(timeMs * 1000), type, detail })),
        );
      },
    }),
    ...signalkOpenRoutes({ prefix: "/instances/{id}", parts: idPart }),
    ...replicaRows.map((row) => ofInstance(row, api)),
    ...pgnRoutes(),
    ...stateRoutes({
      ...api,
      healthSchema: cloudHealthSchema,
      metrics: ({ caller }) => {
        const texts = metrics.texts({
          instances: visibleInstances(api, caller),
          server: caller.instances === undefined,
        });
        return new Response(slices(texts), { headers: { "Content-Type": METRICS_TYPE } });
      },
    }),
  ];
}

function ledgerRow(api: CloudApi): Route {
  return routeWithParts({
    path: "/instances/{id}/ledger",
    summary: CLOUD_LEDGER_SUMMARY,
    query: ledgerQuery,
    parts: idPart,
    replies: { 200: ["application/json", ledgerSchema], 404: PROBLEM, 503: PROBLEM },
    answer: (request, query, { id }, about) => {
      const instance = find(api, id, about);
      return api.readers.read(instance, (subject) => ledgerReply(instance, { request, query, subject }));
    },
  });
}

function* summariesOf(instances: Instance[]): Generator<ReturnType<typeof describeInstance>> {
  for (const instance of instances) yield describeInstance(instance.summary());
}

/** A boat's endpoint below the path of its instance. */
function ofInstance({ handle, ...row }: Route<ReplicaApi>, api: CloudApi): Route {
  return {
    ...row,
    path: `/instances/{id}${row.path}`,
    parts: idPart.extend(row.parts.shape),
    replies: { ...row.replies, 404: PROBLEM, 503: PROBLEM },
    handle: (request, given) =>
      api.readers.read(
        find(api, given.parts.id ?? "", given),
        (subject) => handle(request, { ...given, subject }),
      ),
  };
}

function cloudHome(api: CloudApi): Home {
  return {
    kind: "cloud",
    ...api.server,
    status: api.health().status,
    may_send: false,
    links: { instances: "/instances", ...SERVER_LINKS },
  };
}

/** The instances visible to a caller, sorted by id. */
function visibleInstances({ instances }: CloudApi, { instances: ids }: Pick<Caller, "instances">): Instance[] {
  if (ids === undefined) return [...instances];
  return [...new Set(ids)].sort().flatMap((id) => instances.get(id) ?? []);
}

/** @throws {ApiError} 404 also for an instance that the caller may not see: its existence stays secret */
function find({ instances }: CloudApi, id: string, { caller: { instances: ids } }: About): Instance {
  const instance = ids === undefined || ids.includes(id) ? instances.get(id) : undefined;
  if (!instance) throw new ApiError(404, `There is no instance "${id}": see /instances`);
  return instance;
}
