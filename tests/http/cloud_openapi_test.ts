import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { faults, type OpenApi } from "../support/openapi.ts";
import { claim, product } from "../support/messages.ts";
import { SessionClient } from "../support/session.ts";
import { CloudServer, writeState } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const FILTER = ["pgn", "exclude_pgn", "manufacturer", "instance", "name", "exclude_name", "bus"];
const OPEN = ["/healthz", "/readyz", "/livez"];

/** Every path with its method, GET when it says none: parameters of the query, and codes besides 401 and 403. */
const ROUTES: Record<string, { query?: string[]; codes: string[] }> = {
  "/": { codes: ["200"] },
  "/instances": { codes: ["200"] },
  "/instances/{id}/status": { codes: ["200", "400", "404"] },
  "/instances/{id}/replication/events": { query: ["limit"], codes: ["200", "400", "404"] },
  "/instances/{id}/events": {
    query: [...FILTER, "decode", "labels", "devices", "sources", "batch_ms"],
    codes: ["200", "400", "404", "503"],
  },
  "/instances/{id}/ws": { query: [...FILTER, "decode", "labels"], codes: ["101", "400", "404", "426", "503"] },
  "/instances/{id}/devices": { query: ["at", "labels"], codes: ["200", "400", "404", "503"] },
  "/instances/{id}/values": { query: [...FILTER, "at"], codes: ["200", "400", "404", "503"] },
  "/instances/{id}/values/decoded": { query: [...FILTER, "at", "labels"], codes: ["200", "400", "404", "503"] },
  "/instances/{id}/history": {
    query: [...FILTER, "from", "to", "src", "limit", "after", "interval", "decode", "labels"],
    codes: ["200", "400", "404", "503"],
  },
  "/instances/{id}/journal/blocks": {
    query: ["from", "to", "after"],
    codes: ["200", "204", "400", "404", "503"],
  },
  "/instances/{id}/journal/clock": { codes: ["200", "400", "404", "503"] },
  "/instances/{id}/proof": { codes: ["200", "400", "404"] },
  "/instances/{id}/ledger": { query: ["from", "to"], codes: ["200", "400", "404", "503"] },
  "/instances/{id}/sources": { codes: ["200", "400", "404", "503"] },
  "/instances/{id}/events/sources": { codes: ["200", "400", "404", "503"] },
  "/instances/{id}/series": {
    query: ["field", "from", "to", "points", "src"],
    codes: ["200", "400", "404", "503"],
  },
  "/instances/{id}/voyages": { query: ["from", "to"], codes: ["200", "400", "404", "503"] },
  "/instances/{id}/voyages/{file}": { codes: ["200", "400", "404", "503"] },
  "PUT /instances/{id}/clients/{clientId}": { codes: ["200", "400", "404", "408", "413", "429", "503"] },
  "/instances/{id}/clients/{clientId}": { codes: ["200", "400", "404", "503"] },
  "DELETE /instances/{id}/clients/{clientId}": { codes: ["204", "400", "404", "503"] },
  "/instances/{id}/clients/{clientId}/events": {
    query: ["decode", "labels"],
    codes: ["200", "400", "404", "410", "503"],
  },
  "PUT /instances/{id}/clients/{clientId}/ack": { codes: ["204", "400", "404", "408", "413", "503"] },
  "/pgns": { codes: ["200"] },
  "/pgns/{pgn}": { codes: ["200", "400", "404"] },
  "/pgns/{pgn}/spans": { query: ["data"], codes: ["200", "400", "404"] },
  "/healthz": { codes: ["200", "503"] },
  "/readyz": { codes: ["200", "503"] },
  "/livez": { codes: ["200"] },
  "/metrics": { codes: ["200"] },
  "/openapi.json": { codes: ["200"] },
};

Deno.test(
  "the cloud's API description lists every route, its parameters and its codes, and nothing else",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const { paths } = await cloud.get<OpenApi>("/openapi.json");
      const described = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { parameters = [], responses }]) => {
          const named = (where: string) =>
            parameters.filter((each) => each.in === where).map(({ name }) => name).sort();
          assert.deepEqual(
            named("path"),
            Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name).sort(),
            path,
          );
          const codes = Object.keys(responses).filter((code) => code !== "401" && code !== "403").sort();
          assert.equal(codes.length + (OPEN.includes(path) ? 0 : 2), Object.keys(responses).length, path);
          const key = method === "get" ? path : `${method.toUpperCase()} ${path}`;
          return [key, { query: named("query"), codes }] as const;
        })
      );
      const expected = Object.entries(ROUTES).map(([path, { query = [], codes }]) =>
        [path, { query: query.toSorted(), codes }] as const
      );
      assert.deepEqual(Object.fromEntries(described), Object.fromEntries(expected));
    }),
);

Deno.test(
  "what the cloud answers is what its description says, with everything known and with nothing known",
  DISK,
  () =>
    inFolder(async (folder) => {
      await writeState(folder, "away", {
        headSeq: 50,
        journalBytes: 1,
        lastSeenMs: 1,
        received: { durable: [{ start: 5, end: 6 }], void: [], lost: [{ start: 8, end: 9, reason: "pruned" }] },
      });
      await writeState(folder, "new", { epochs: { current: undefined, previous: [] } });
      await using cloud = await CloudServer.start(folder);
      const boat = await cloud.boat("here", { busNames: ["can0", "can1"] });
      boat.instance.note("live_start", "from 1");
      boat.take(claim(0x123456789abcdefn, { src: 2 }));
      boat.take(product("Model", { src: 2 }));
      await new SessionClient(`${cloud.url}/instances/here`).put();
      const api = await cloud.get<OpenApi>("/openapi.json");
      const own = ["/status", "/proof", "/ledger", "/replication/events", "/replication/events?limit=0"];
      const read = [
        "/devices",
        "/sources",
        "/values",
        "/values?pgn=x",
        "/values/decoded",
        "/ws",
        "/history",
        "/clients/pilot",
      ];
      const history = "/history?from=2026-01-02T00:00:00Z&to=2026-01-03T00:00:00Z&decode=true";
      const paths = [
        ...["/instances", "/healthz", "/readyz", "/livez", "/pgns/1", "/instances/nobody/status"],
        ...[...own, ...read, history, "/clients/none"].map((path) => `/instances/here${path}`),
        ...own.map((path) => `/instances/away${path}`),
        ...[...own, "/devices"].map((path) => `/instances/new${path}`),
      ];
      for (const path of paths) {
        const reply = await cloud.raw(path);
        const described = path.replace(/\?.*/, "").replace(/^(\/pgns\/).+/, "$1{pgn}")
          .replace(/^(\/instances\/)\w+/, "$1{id}").replace(/(\/clients\/)\w+/, "$1{clientId}");
        const response = api.paths[described]?.["get"]?.responses[reply.status];
        const schema = response?.content?.[reply.headers.get("Content-Type") ?? ""]?.schema;
        assert.ok(schema, `${path} ${reply.status} is described`);
        assert.deepEqual(faults(JSON.parse(await reply.text()), schema, api), [], path);
      }
    }),
);
