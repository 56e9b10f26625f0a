import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { faults, type OpenApi, type Schema } from "../support/openapi.ts";

/** Asked by who has no token. */
const OPEN = ["/healthz", "/readyz", "/livez"];
/** What can be asked of a time. */
const AT = ["/devices", "/values", "/values/decoded"];
/** What everything else may answer besides. */
const REFUSED = ["401", "403"];
const WAYS_OF_TOKENS = ["bearer", "header", "query"];
const FILTER = ["pgn", "exclude_pgn", "manufacturer", "instance", "name", "exclude_name", "bus"];
/** Every path with its method, GET when it says none, its query parameters and the codes it may answer with. */
const ROUTES: Record<string, { query: string[]; codes: string[] }> = {
  "/": { query: [], codes: ["200"] },
  "PUT /clients/{clientId}": { query: [], codes: ["200", "400", "404", "408", "413", "429", "503"] },
  "/clients/{clientId}": { query: [], codes: ["200", "400", "404"] },
  "DELETE /clients/{clientId}": { query: [], codes: ["204", "400", "404"] },
  "/clients/{clientId}/events": { query: ["decode", "labels"], codes: ["200", "400", "404", "410", "503"] },
  "PUT /clients/{clientId}/ack": { query: [], codes: ["204", "400", "404", "408", "413", "503"] },
  "/events": { query: [...FILTER, "decode", "labels", "devices", "sources", "batch_ms"], codes: ["200", "400", "503"] },
  "/events/sources": { query: [], codes: ["200", "503"] },
  "/alerts": { query: [], codes: ["200"] },
  "/doctor": { query: ["bus", "severity"], codes: ["200", "400"] },
  "/blackbox": { query: [], codes: ["200"] },
  "/blackbox/{name}": { query: [], codes: ["200", "400", "404"] },
  "POST /mark": { query: [], codes: ["200", "202", "400", "403", "408", "413", "503"] },
  "/limits": { query: [], codes: ["200"] },
  "/proof": { query: [], codes: ["200"] },
  "/ledger": { query: ["from", "to"], codes: ["200", "400", "404", "503"] },
  "/sources": { query: [], codes: ["200"] },
  "/sources/history": { query: ["from", "to", "quantity"], codes: ["200", "400", "503"] },
  "/ws": { query: [...FILTER, "decode", "labels"], codes: ["101", "400", "426", "503"] },
  "/devices": { query: ["at", "labels"], codes: ["200", "400", "404", "503"] },
  "/values": { query: [...FILTER, "at"], codes: ["200", "400", "404", "503"] },
  "/values/decoded": { query: [...FILTER, "at", "labels"], codes: ["200", "400", "404", "503"] },
  "/history": {
    query: [...FILTER, "from", "to", "src", "limit", "after", "interval", "decode", "labels"],
    codes: ["200", "400", "503"],
  },
  "/journal/blocks": { query: ["from", "to", "after"], codes: ["200", "204", "400", "503"] },
  "/journal/clock": { query: [], codes: ["200", "503"] },
  "/series": { query: ["field", "from", "to", "points", "src"], codes: ["200", "400", "503"] },
  "/voyages": { query: ["from", "to"], codes: ["200", "400", "503"] },
  "/voyages/{file}": { query: [], codes: ["200", "400", "404", "503"] },
  "POST /send": { query: [], codes: ["202", "400", "403", "408", "413", "429", "503"] },
  "POST /query": { query: [], codes: ["200", "400", "403", "408", "413", "429", "502", "503", "504"] },
  "/replication/status": { query: [], codes: ["200", "404"] },
  "/pgns": { query: [], codes: ["200"] },
  "/pgns/{pgn}": { query: [], codes: ["200", "400", "404"] },
  "/pgns/{pgn}/spans": { query: ["data"], codes: ["200", "400", "404"] },
  "/healthz": { query: [], codes: ["200", "503"] },
  "/readyz": { query: [], codes: ["200", "503"] },
  "/livez": { query: [], codes: ["200"] },
  "/metrics": { query: [], codes: ["200"] },
  "/openapi.json": { query: [], codes: ["200"] },
};

Deno.test("the API description lists every route, its parameters and its codes, and nothing else", async () => {
  await using boat = await TestBoat.start();
  const { openapi, info, paths, components } = await boat.get<OpenApi>("/openapi.json");
  assert.deepEqual(Object.keys(components.securitySchemes), WAYS_OF_TOKENS);
  assert.match(openapi, /^3\.1\./);
  assert.ok(info.title !== "" && /^\d+\.\d+\.\d+/.test(info.version));
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path: method === "get" ? path : `${method.toUpperCase()} ${path}`,
      operation,
    }))
  );
  assert.deepEqual(operations.map(({ path }) => path).sort(), Object.keys(ROUTES).sort());
  for (const { path, operation } of operations) {
    const { summary, parameters = [], responses, requestBody } = operation;
    assert.equal(requestBody !== undefined, /^PUT|^POST/.test(path), path);
    if (requestBody) assert.ok(requestBody.required && requestBody.content["application/json"]?.schema, path);
    assert.ok(summary.length > 5, path);
    const named = (where: string) => parameters.filter((each) => each.in === where).map(({ name }) => name);
    assert.deepEqual(named("query").sort(), ROUTES[path]?.query.toSorted(), path);
    assert.deepEqual(named("path"), Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name), path);
    const codes = new Set([...ROUTES[path]?.codes ?? [], ...OPEN.includes(path) ? [] : REFUSED]);
    assert.deepEqual(Object.keys(responses).sort(), [...codes].sort(), path);
    assert.equal(operation.security?.length, OPEN.includes(path) ? undefined : 1 + WAYS_OF_TOKENS.length, path);
    for (const [code, { description, content = {}, headers = {} }] of Object.entries(responses)) {
      assert.ok(description !== "");
      const problem = Number(code) >= 400 && !(path.endsWith("z") && code === "503");
      assert.equal("application/problem+json" in content, problem, `${path} ${code}`);
      const canRetry = problem && ["429", "503"].includes(code);
      const expected = canRetry
        ? ["Retry-After"]
        : path === "/history" && code === "200"
        ? ["Frame-Count", "Link"]
        : path === "/journal/blocks" && code === "200"
        ? ["Link"]
        : AT.includes(path) && code === "200"
        ? ["State-Since"]
        : [];
      assert.deepEqual(Object.keys(headers), expected, `${path} ${code}`);
    }
  }
});

Deno.test("every query parameter but times and fields is optional, of the right type, and says what it is for", async () => {
  await using boat = await TestBoat.start();
  const { paths } = await boat.get<OpenApi>("/openapi.json");
  const items: Record<string, Schema> = {
    pgn: { type: "integer", minimum: 0, maximum: 4294967295 },
    exclude_pgn: { type: "integer", minimum: 0, maximum: 4294967295 },
    instance: { type: "integer", minimum: 0, maximum: 252 },
    manufacturer: { type: "string" },
    bus: { type: "string" },
    name: { type: "string" },
    exclude_name: { type: "string" },
    src: { type: "integer", minimum: 0, maximum: 255 },
    field: { type: "string" },
    quantity: { type: "string" },
  };
  const single: Record<string, string> = {
    at: "string",
    from: "string",
    to: "string",
    interval: "string",
    limit: "integer",
    after: "string",
    points: "integer",
    batch_ms: "integer",
    data: "string",
    severity: "string",
  };
  for (const [path, { get }] of Object.entries(paths)) {
    // The ledger has a default for the beginning, too.
    const mandatory = path === "/ledger" ? [] : ["from", "field", "data"];
    const parameters = get?.parameters?.filter((each) => each.in !== "path") ?? [];
    for (const { name, in: where, required, explode, description, schema } of parameters) {
      assert.equal(where, "query");
      assert.equal(required ?? false, mandatory.includes(name), name);
      assert.ok(description, name);
      const item = items[name];
      assert.equal(schema.type, item ? "array" : single[name] ?? "boolean", name);
      if (!item) continue;
      assert.equal(explode, true);
      for (const [key, value] of Object.entries(item)) {
        assert.deepEqual(Object.entries({ ...schema.items }).find(([k]) => k === key)?.[1], value, name);
      }
    }
  }
  const [pgn] = paths["/pgns/{pgn}"]?.get?.parameters ?? [];
  assert.deepEqual([pgn?.required, pgn?.schema.type, pgn?.schema.maximum], [true, "integer", 4294967295]);
  const name = paths["/values"]?.get?.parameters?.find((each) => each.name === "name")?.schema.items;
  const pattern = new RegExp(name?.pattern ?? "(?!)");
  for (const good of ["0x00A1b2c3d4e5f607", "1"]) assert.match(good, pattern);
  for (const bad of ["", "xyz", "0x", "12345678901234567"]) assert.doesNotMatch(bad, pattern);
});

Deno.test("every reference in the API description leads somewhere", async () => {
  await using boat = await TestBoat.start();
  const api = await boat.get<OpenApi>("/openapi.json");
  const refs = JSON.stringify(api).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
  for (const [, name = ""] of refs) assert.ok(api.components.schemas[name], name);
  assert.ok(api.components.schemas.Frame && api.components.schemas.Device && api.components.schemas.Problem);
});

Deno.test("what the server answers is what its description says, with everything known and with nothing known", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  const api = await boat.get<OpenApi>("/openapi.json");
  const check = async (path: string) => {
    const reply = await boat.raw(path);
    const described = path.replace(/\?.*/, "").replace(/^(\/pgns\/).+/, "$1{pgn}");
    const response = api.paths[described]?.get?.responses[reply.status];
    const schema = response?.content?.[reply.headers.get("Content-Type") ?? ""]?.schema;
    assert.ok(schema, `${path} ${reply.status} is described`);
    assert.deepEqual(faults(JSON.parse(await reply.text()), schema, api), [], path);
  };
  const paths = [
    ...["/devices", "/values", "/values/decoded", "/healthz", "/readyz", "/livez", "/values?pgn=x", "/ws"],
    ...["/pgns", "/pgns/x", "/pgns/1", "/ledger", "/history", "/history?from=2026-01-02T03:04:05Z"],
  ];
  for (const path of paths) await check(path);
  boat.say({ src: 1 });
  boat.claim(2, { uniqueNumber: 1, manufacturerCode: 229 });
  boat.product(2, "Model");
  await eventually("both devices", () => boat.boat.broker.head === 3);
  for (const path of paths) await check(path);
  for (const query of ["", "?decode=true"]) {
    await using events = await boat.events(query);
    boat.say();
    await events.atLeast(1);
    assert.deepEqual(faults(events.frames[0], { $ref: "#/components/schemas/Frame" }, api), []);
  }
  await boat.buses[0]?.close();
  await boat.buses[1]?.close();
  await check("/healthz");
});
