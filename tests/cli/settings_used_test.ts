import assert from "node:assert/strict";
import { boatLimits, fixedOptions as boatFixed } from "../../cli/boat.ts";
import { cloudLimits, fixedOptions as cloudFixed } from "../../cli/commands/cloud/server.ts";
import { boatOptions, type BoatSettings } from "../../cli/settings/boat_options.ts";
import { cloudOptions, type CloudSettings } from "../../cli/settings/cloud_options.ts";
import { type Options, resolveSettings } from "../../cli/settings/options.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { environment, needs } from "../support/needs.ts";
import { ROOT } from "../support/task.ts";

/** Read by the program itself, not by the mapping to the library's options. */
const PROGRAM = [
  ...["config", "validateConfig", "version", "help"],
  ...["logLevel", "logFormat", "otelEndpoint", "otelSampleRatio"],
];
/** Read by `start` and `runBoat`. */
const START = ["interfaces", "canDriver", "loopback", "stateDir"];

const SYSTEM = needs({ permissions: ["env", "sys"] });

/** Settings whose reads are recorded. */
function recorded<S extends object>(
  table: Options<S>,
  flags: Record<string, string>,
): { settings: S; read: Set<string> } {
  const given = new Map(Object.entries(flags).map(([name, value]) => [name, [value]]));
  const { settings } = resolveSettings(table, { flags: given });
  assert.ok(settings);
  const read = new Set<string>();
  const get = (target: S, name: string | symbol) => {
    read.add(String(name));
    return Reflect.get(target, name);
  };
  return { settings: new Proxy(settings, { get }), read };
}

Deno.test("every setting of the boat becomes an option of the library", SYSTEM, () => {
  const { settings, read } = recorded<BoatSettings>(boatOptions, {
    "mqtt-broker": "mqtt://127.0.0.1",
    "nmea0183-listen": "tcp://:10110",
    "gateway-listen": "tcp://:1457?format=ydraw",
    "journal-dir": "journal",
    "virtual-device": "true",
    "replication-target": "127.0.0.1:1",
    "replication-instance-id": "aurora",
  });
  boatLimits(settings);
  boatFixed(settings, { log: silentLogger, stateDirectory: "state" });
  const unread = Object.keys(boatOptions).filter((name) => !read.has(name));
  assert.deepEqual(unread.sort(), [...PROGRAM, ...START].sort());
});

Deno.test("every setting of the cloud becomes an option of the library", () => {
  const read = new Set<string>();
  const PORTS = [{ "acme-domain": "cloud.example.com", "acme-email": "a@example.com" }, { "insecure": "true" }];
  for (const ports of PORTS) {
    const found = recorded<CloudSettings>(cloudOptions, { ...ports, "data-dir": "data" });
    cloudLimits(found.settings);
    cloudFixed(found.settings);
    for (const name of found.read) read.add(name);
  }
  const unread = Object.keys(cloudOptions).filter((name) => !read.has(name));
  assert.deepEqual(unread.sort(), [...PROGRAM, "drainTimeMs"].sort());
});

const FULL = needs({
  permissions: ["env", "read", "run", "write"],
  programs: ["git"],
  extras: { "VBG_TEST_FULL=1": environment("VBG_TEST_FULL") === "1" },
});
const KINDS = "reloadable|offAtZero|optional|text|boolean|integer|powerOfTwo|number|duration|size|oneOf|address|list|" +
  "structured|dataDirOption|\\{ \\.\\.\\.maxConnections";
const TABLES = /^cli\/settings\/(?:\w+_options|request_rules)\.ts$/;

/** A copy of the sources in which names can be changed, and checked. */
class Copy implements AsyncDisposable {
  readonly #folder: string;
  readonly #files: ReadonlyMap<string, string>;

  private constructor(folder: string, files: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.#files = files;
  }

  static async make(): Promise<Copy> {
    const folder = await Deno.makeTempDir();
    const args = ["ls-files", "cli", "src", "*.json", "deno.lock", "mod.ts"];
    const { stdout } = await new Deno.Command("git", { args, cwd: ROOT }).output();
    const files = new Map<string, string>();
    for (const path of new TextDecoder().decode(stdout).trim().split("\n")) {
      await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.copyFile(ROOT + path, `${folder}/${path}`);
      if (path.endsWith(".ts")) files.set(path, await Deno.readTextFile(ROOT + path));
    }
    return new Copy(folder, files);
  }

  /** Whether the programs check with these changes, which are taken back. */
  async checks(change: (path: string, text: string) => string): Promise<boolean> {
    const changed = [...this.#files].flatMap(([path, text]) => change(path, text) === text ? [] : [path]);
    assert.ok(changed.length > 0, "nothing was renamed");
    for (const path of changed) await this.#write(path, change(path, this.#files.get(path) ?? ""));
    const args = ["check", "cli/boat.ts", "cli/commands/cloud/server.ts"];
    const { success } = await new Deno.Command(Deno.execPath(), { args, cwd: this.#folder }).output();
    for (const path of changed) await this.#write(path, this.#files.get(path) ?? "");
    return success;
  }

  async #write(path: string, text: string): Promise<void> {
    await Deno.writeTextFile(`${this.#folder}/${path}`, text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Properties of the interfaces that settings become. */
async function libraryNames(): Promise<string[]> {
  const names = [
    "boat/limits",
    "boat/boat",
    "boat/integrations",
    "boat/transmit",
    "feed/recording",
    "cloud_server/cloud",
  ]
    .map(async (file) => {
      const text = await Deno.readTextFile(`${ROOT}src/${file}.ts`);
      const interfaces = text.matchAll(/^export interface \w*(?:Limits|Options)\b[^{]*\{\n(.*?)^\}/gms);
      return [...interfaces].flatMap(([, body = ""]) =>
        [...body.matchAll(/^ {2}(\w+)\??: /gm)].map(([, name = ""]) => name)
      );
    });
  const inCli = ["log", "clock", "signal", "buses", "decode", "checkIntervalMs", "reserve"];
  return [...new Set((await Promise.all(names)).flat())].filter((name) => !inCli.includes(name));
}

Deno.test("a setting or option that is renamed on one side fails the type check", FULL, async () => {
  await using copy = await Copy.make();
  const passed: string[] = [];
  for (const name of new Set([...Object.keys(boatOptions), ...Object.keys(cloudOptions)])) {
    const row = new RegExp(`^(.*\\b)${name}(: (?:${KINDS})\\b)`, "gm");
    const rename = (path: string, text: string) => TABLES.test(path) ? text.replace(row, `$1${name}Renamed$2`) : text;
    if (await copy.checks(rename)) passed.push(name);
  }
  for (const name of await libraryNames()) {
    const word = new RegExp(`\\b${name}\\b`, "g");
    const rename = (path: string, text: string) =>
      path.startsWith("src/") ? text.replace(word, `${name}Renamed`) : text;
    if (await copy.checks(rename)) passed.push(`src: ${name}`);
  }
  assert.deepEqual(passed, []);
});
