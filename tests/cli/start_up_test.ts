import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needs } from "../support/needs.ts";
import { startAdvised } from "../../cli/program/start_advice.ts";
import { BusError, ListenError } from "../../mod.ts";
import { tracedCommand } from "../../cli/program/otel.ts";

const RUN = needs({ permissions: ["run", "read"] });
const CLI = new URL("../../cli/", import.meta.url);
/** Commands that need no server's code. */
const LIGHT = [
  ...["alarms/alarms", "archive_s3/archive_s3", "doctor/doctor", "dump/dump", "inspect/inspect", "repair/repair"],
  ...["tail/tail", "read/values", "verify/verify"],
];
/** What only servers need; each brings hundreds of files. */
const HEAVY = ["src/http/mod.ts", "src/cloud/mod.ts", "src/replication/mod.ts"];

interface Module {
  specifier: string;
  dependencies?: { isDynamic?: boolean; code?: { specifier?: string } }[];
}

/** The files that are loaded, without those that are asked for later, by one of them. */
function loadedBy(file: string, modules: ReadonlyMap<string, Module>): Set<string> {
  const loaded = new Set([new URL(file, CLI).href]);
  // A set goes on with what is added to it meanwhile.
  for (const each of loaded) {
    for (const { isDynamic, code } of modules.get(each)?.dependencies ?? []) {
      if (!isDynamic && code?.specifier !== undefined) loaded.add(code.specifier);
    }
  }
  return loaded;
}

Deno.test("start: commands that need no server load nothing of the servers", RUN, async () => {
  // All commands are in it.
  const args = ["info", "--json", fileURLToPath(new URL("vbg.ts", CLI))];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  const { modules }: { modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  for (const name of LIGHT) {
    const loaded = loadedBy(`commands/${name}.ts`, bySpecifier);
    assert.ok(loaded.size > 10, name);
    assert.deepEqual([...loaded].filter((each) => HEAVY.some((file) => each.endsWith(`/${file}`))), [], name);
  }
});

Deno.test("what keeps a server from starting is told with what to do, where that is known", () => {
  const told = (error: unknown) => (error instanceof Error ? error.message : String(error));
  assert.equal(
    told(startAdvised(new BusError('Cannot open bus "can0": no such interface'))),
    'Cannot open bus "can0": no such interface; "ip link" lists those there are, -demo needs none',
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
