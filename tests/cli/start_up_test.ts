import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needs } from "../support/needs.ts";
import { startAdvised } from "../../cli/program/server_start.ts";
import { BusError, ListenError } from "../../mod.ts";
import { tracedCommand } from "../../cli/program/otel.ts";

const RUN = needs({ permissions: ["run", "read"] });
const CLI = new URL("../../cli/", import.meta.url);
/** Commands that need no server's code. */
const LIGHT = [
  ...["alarms/alarms", "archive_s3/archive_s3", "doctor/doctor", "dump/dump", "export/export", "inspect/inspect"],
  ...["mcp/mcp", "mcp/serve", "query/query", "repair/repair", "tail/tail", "read/values", "verify/verify"],
];
/** What only servers need; each brings hundreds of files. */
const HEAVY = ["src/http/mod.ts", "src/cloud/mod.ts", "src/replication/mod.ts"];

/** Folders of which a boat server needs nothing. */
const NOT_OF_A_BOAT = ["src/cloud/", "src/cloud_server/", "src/http/cloud/", "src/simulator/", "src/simulation/"];
/** Package of one command, which is loaded when that runs. */
const MCP = "@modelcontextprotocol/";
/** Most packages that the demo downloads at its first start. */
const MAX_DEMO_PACKAGES = 60;

interface Module {
  specifier: string;
  kind?: string;
  npmPackage?: string;
  dependencies?: { isDynamic?: boolean; code?: { specifier?: string } }[];
}

/** What `deno info` says of the programs: the files that they find by reading the sources. */
interface Graph {
  modules: Module[];
  redirects: Record<string, string>;
  npmPackages: Record<string, { dependencies: string[] }>;
}

async function graphOf(file: string): Promise<Graph> {
  const args = ["info", "--json", fileURLToPath(new URL(file, CLI))];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** The files that a program imports, by value; without those that are asked for later, unless these are wanted. */
function loadedBy(file: string, { modules, redirects }: Graph, { isLateToo = false } = {}): Set<string> {
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set([new URL(file, CLI).href]);
  // A set goes on with what is added to it meanwhile.
  for (const each of loaded) {
    for (const { isDynamic, code } of bySpecifier.get(each)?.dependencies ?? []) {
      if (isDynamic && !isLateToo || code?.specifier === undefined) continue;
      loaded.add(redirects[code.specifier] ?? code.specifier);
    }
  }
  return loaded;
}

/** The packages of the files that Deno finds, with those that they need themselves: it downloads them before a start. */
function packagesOf(file: string, graph: Graph): Set<string> {
  const loaded = loadedBy(file, graph, { isLateToo: true });
  const packages = new Set(
    graph.modules.filter(({ specifier }) => loaded.has(specifier)).flatMap(({ npmPackage }) => npmPackage ?? []),
  );
  for (const each of packages) {
    for (const dependency of graph.npmPackages[each]?.dependencies ?? []) packages.add(dependency);
  }
  return packages;
}

Deno.test("start: commands that need no server load nothing of the servers", RUN, async () => {
  // All commands are in it.
  const graph = await graphOf("vbg.ts");
  for (const name of LIGHT) {
    const loaded = loadedBy(`commands/${name}.ts`, graph);
    assert.ok(loaded.size > 10, name);
    assert.deepEqual([...loaded].filter((each) => HEAVY.some((file) => each.endsWith(`/${file}`))), [], name);
  }
  assert.deepEqual([...packagesOf("vbg.ts", graph)].filter((each) => each.startsWith(MCP)), []);
});

Deno.test("start: the package of MCP comes with the file that only vbg mcp loads", RUN, async () => {
  const file = "commands/mcp/mcp_package.ts";
  assert.ok([...packagesOf(file, await graphOf(file))].some((each) => each.startsWith(MCP)));
});

Deno.test("start: a boat server loads nothing of the cloud, nor of simulations", RUN, async () => {
  const graph = await graphOf("boat.ts");
  const loaded = [...loadedBy("boat.ts", graph)];
  assert.ok(loaded.some((each) => each.endsWith("/src/boat/boat.ts")));
  assert.deepEqual(loaded.filter((each) => NOT_OF_A_BOAT.some((folder) => each.includes(`/${folder}`))), []);
  assert.deepEqual([...packagesOf("boat.ts", graph)].filter((each) => each.startsWith(MCP)), []);
});

Deno.test(`start: the demo downloads no more than ${MAX_DEMO_PACKAGES} packages`, RUN, async () => {
  const packages = packagesOf("demo.ts", await graphOf("demo.ts"));
  assert.ok([...packages].some((each) => each.startsWith("@grpc/grpc-js@")), "packages are not told");
  assert.ok(packages.size <= MAX_DEMO_PACKAGES, `${packages.size}: ${[...packages].sort().join(", ")}`);
});

Deno.test("what keeps a server from starting is told with what to do, where that is known", () => {
  const told = (error: unknown) => (error instanceof Error ? error.message : String(error));
  assert.equal(
    told(startAdvised(new BusError('Cannot open bus "can0": no such interface'))),
    'Cannot open bus "can0": no such interface; "ip link" lists the interfaces, -demo needs none, a recording is given as a path: ./FILE',
  );
  assert.equal(
    told(startAdvised(new ListenError("Cannot listen on [::]:8089: the port is taken"))),
    "Cannot listen on [::]:8089: the port is taken; -port or -listen names another",
  );
  for (const other of [new BusError("Cannot open bus: it is open"), new Error("the port is taken"), "text"]) {
    assert.equal(startAdvised(other), other);
  }
});

const PROCESS = needs({ permissions: ["read"] });
const given = { endpoint: "http://127.0.0.1:4318", serviceName: "vbg-boat", permissions: ["-A"], environment: {} };

Deno.test("a part of the traces is told by the sampler of OpenTelemetry, all of them by none", PROCESS, () => {
  const all = tracedCommand({ ...given, sampleRatio: 1 })?.env ?? {};
  assert.deepEqual(all, {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: given.endpoint,
    OTEL_SERVICE_NAME: "vbg-boat",
  });
  const part = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" };
  assert.deepEqual(tracedCommand({ ...given, sampleRatio: 0.25 })?.env, { ...all, ...part });
});

Deno.test("a program that is traced already does not start another one", PROCESS, () => {
  assert.equal(tracedCommand({ ...given, sampleRatio: 1, environment: { OTEL_DENO: "true" } }), undefined);
});
