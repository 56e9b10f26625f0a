import assert from "node:assert/strict";
import { makePortables } from "../../scripts/compile.ts";
import { PROGRAMS } from "../../scripts/programs.ts";
import { VERSION } from "../../src/version.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs, SLOW } from "../support/needs.ts";
import { runQuery } from "../support/query.ts";

const NEEDS = needs({
  permissions: ["env", "write", "net", "sys"],
  programs: ["sh", "tar", "gzip", "cp", "mktemp"],
  extras: SLOW,
});
/** Nobody's tests are about speed, but a figure that grows should be seen. */
const STARTS = 5;
/** First byte of what an MQTT client says. */
const MQTT_CONNECT = 0x10;

/** Portable files, each alone in a folder of its own and run with nothing in its environment but a cache's place. */
class Portables implements AsyncDisposable {
  readonly #folder: string;
  readonly #children: Deno.ChildProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(folder: string): Promise<Portables> {
    const runtime = Deno.execPath();
    const paths = await makePortables(folder, { runtime, target: Deno.build.target, level: 1 });
    for (const { name } of PROGRAMS) {
      const path = paths.find((each) => each.startsWith(`${folder}/${name}-${VERSION}`));
      assert.ok(path);
      await Deno.mkdir(`${folder}/${name}`);
      await Deno.rename(path, `${folder}/${name}/${name}`);
    }
    return new Portables(folder);
  }

  async run(name: string, args: string[], more: Record<string, string> = {}) {
    const { code, stdout, stderr } = await this.#command(name, args, more).output();
    const text = new TextDecoder();
    return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
  }

  /** Starts a program, takes the first line that it prints, and hangs up as `head` does. */
  async firstLine(name: string, args: string[]): Promise<string> {
    const child = this.#command(name, args).spawn();
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.includes("\n")) break;
    }
    const [{ code }, complaints] = await Promise.all([child.status, new Response(child.stderr).text()]);
    assert.equal(code, 0, complaints);
    return text.split("\n")[0] ?? "";
  }

  /** Starts a server. Answers its process and the address that its log tells. */
  async serve(name: string, args: string[]): Promise<{ child: Deno.ChildProcess; url: string }> {
    const child = this.#command(name, args).spawn();
    this.#children.push(child);
    let log = "";
    (async () => {
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) log += text;
    })();
    const url = await eventually(`${name} to listen`, () => /"url":"(https?:\/\/[^"]+)"/.exec(log)?.[1]);
    return { child, url };
  }

  #command(name: string, args: string[], more: Record<string, string> = {}): Deno.Command {
    const env = { VBG_CACHE: `${this.#folder}/cache`, ...more };
    const piped = { stdin: "null", stdout: "piped", stderr: "piped" } as const;
    return new Deno.Command(`./${name}`, { args, env, clearEnv: true, cwd: `${this.#folder}/${name}`, ...piped });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      await child.status;
      await child.stdout.cancel();
    }
  }
}

/** Ends a server as systemd does; a quiet one has 5 seconds, and a killed one another exit code. */
async function stop(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  const { code, signal } = await child.status;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
}

async function fastestStart(portables: Portables, { name, args }: { name: string; args: string[] }): Promise<number> {
  const timesMs: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const start = performance.now();
    await portables.run(name, args);
    timesMs.push(performance.now() - start);
  }
  return Math.round(Math.min(...timesMs));
}

async function tellWhoTheyAre(portables: Portables): Promise<void> {
  for (const { name } of PROGRAMS) {
    assert.deepEqual(await portables.run(name, ["--version"]), { code: 0, stdout: `${name} ${VERSION}\n`, stderr: "" });
    assert.match((await portables.run(name, ["--help"])).stdout, new RegExp(`^${name}: `));
    const { code, stderr } = await portables.run(name, ["-no-such-flag"]);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`^${name}: (Unknown|Unexpected) .*-no-such-flag`));
  }
}

async function serveBoat(portables: Portables, folder: string): Promise<void> {
  using broker = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const settings = `
    listen = "127.0.0.1:0", state-dir = "${folder}/boat"
    journal { dir = "${folder}/journal", pack-after = 0s }
    mqtt.broker = "mqtt://127.0.0.1:${broker.addr.port}"
  `;
  await Deno.writeTextFile(`${folder}/vbg-boat/vbg-boat.conf`, settings);
  const { child, url } = await portables.serve("vbg-boat", ["-demo"]);
  using client = await broker.accept();
  const packet = new Uint8Array(1);
  await client.read(packet);
  assert.equal(packet[0], MQTT_CONNECT);
  await eventually("devices of the demo", async () => {
    const devices: unknown[] = await (await fetch(`${url}/devices`)).json();
    return devices.length > 3;
  });
  const from = new Date(Date.now() - 60_000).toISOString();
  await eventually("a decoded frame", async () => {
    const reply = await fetch(`${url}/history?decode=true&pgn=127250&limit=1&from=${from}`);
    return (await reply.text()).includes('"heading"');
  });
  assert.match((await portables.run("vbg", ["devices", "-server", url, "-json"])).stdout, /"manufacturer"/);
  assert.equal(
    await portables.firstLine("vbg", ["dump", "-server", url, "-json", "-pgn", "127250"]).then(pgnOf),
    127250,
  );
  await stop(child);
}

function pgnOf(line: string): unknown {
  return JSON.parse(line).pgn;
}

async function serveCloud(portables: Portables, folder: string): Promise<void> {
  const ca = ["-ca-dir", `${folder}/ca`];
  for (const args of [["init", ...ca], ["issue", ...ca, "-host", "localhost"]]) {
    const { code, stderr } = await portables.run("vbg-cloud", ["ca", ...args]);
    assert.equal(code, 0, stderr);
  }
  const tls = ["-tls-cert", `${folder}/ca/server/cert.pem`, "-tls-key", `${folder}/ca/server/key.pem`];
  const trust = ["-tls-client-ca", `${folder}/ca/ca.pem`, "-data-dir", `${folder}/boats`];
  const places = ["-grpc-listen", "127.0.0.1:0", "-http-listen", "127.0.0.1:0"];
  const { child, url } = await portables.serve("vbg-cloud", [...places, ...tls, ...trust]);
  assert.deepEqual(await (await fetch(`${url}/instances`)).json(), { instances: [] });
  await stop(child);
}

async function convertRecording(portables: Portables, folder: string): Promise<void> {
  await Deno.writeTextFile(`${folder}/vbg/a.log`, "(1700000000.000000) can0 09F11203#00E8030000000000\n");
  const { code, stderr } = await portables.run("vbg", ["convert", "a.log", "-out", `${folder}/converted`]);
  assert.equal(code, 0, stderr);
  assert.ok([...Deno.readDirSync(`${folder}/converted`)].some(({ name }) => name.endsWith(".lpj")));
}

async function queryRecording(portables: Portables, folder: string): Promise<void> {
  const sql = ["query", "SELECT count(*) AS n FROM vessel_heading", `${folder}/converted`];
  const without = await portables.run("vbg", sql);
  assert.deepEqual([without.code, without.stdout], [1, ""]);
  assert.match(without.stderr, /DuckDB is not installed: vbg query -install fetches it\n$/);
  // In this machine's cache, as the registry may need settings of its environment.
  assert.equal((await runQuery(["-tables", `${folder}/converted`])).code, 0);
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir: DENO_DIR } = JSON.parse(new TextDecoder().decode(info.stdout));
  assert.deepEqual(await portables.run("vbg", sql, { DENO_DIR }), { code: 0, stdout: "n\n1\n", stderr: "" });
}

Deno.test("portable programs work alone in an empty folder with an empty environment", NEEDS, async (t) => {
  await inFolder(async (folder) => {
    await using portables = await Portables.make(folder);
    await t.step("all tell their version and help, and refuse what is wrong", () => tellWhoTheyAre(portables));
    await t.step(
      "vbg-boat reads its settings, serves the demo, speaks MQTT, records, and stops in time",
      () => serveBoat(portables, folder),
    );
    await t.step(
      "vbg-cloud makes its certificates, serves with them, and stops in time",
      () => serveCloud(portables, folder),
    );
    await t.step("vbg makes a journal of a recording", () => convertRecording(portables, folder));
    await t.step("vbg runs SQL over it, once DuckDB is installed", () => queryRecording(portables, folder));
    const starts = [
      ...PROGRAMS.map(({ name }) => ({ name, args: ["--version"] })),
      { name: "vbg", args: ["dump", "--help"] },
    ];
    for (const start of starts) {
      const ms = await fastestStart(portables, start);
      console.log(`${start.name} ${start.args.join(" ")}: ${ms} ms, warm, best of ${STARTS}`);
    }
  });
});
