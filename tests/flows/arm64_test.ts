// The programs on arm64, emulated by qemu: what depends on the processor is FFI, memory layouts, and the Deno for it.
import assert from "node:assert/strict";
import { makeDeb } from "../../scripts/deb.ts";
import { VERSION } from "../../src/version.ts";
import { emulateInPlace, emulationNeeds, findEmulated } from "../support/emulated.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { START_MS, TestProgram } from "../support/program.ts";
import { parseMetrics } from "../support/prometheus.ts";
import { ReplicationLab } from "../support/replication_lab.ts";
import { taskArgs } from "../support/task.ts";

const emulated = await findEmulated();
const EMULATED = needs(emulationNeeds(emulated));
const runtime = emulated?.command ?? [];
const ROUNDS = 2;
const MESSAGES = 500;

async function run(command: readonly string[], env: Record<string, string> = {}) {
  const [program = "", ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program, { args, env: { NO_COLOR: "1", ...env } }).output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), err: text.decode(stderr) };
}

Deno.test("the emulated Deno is one for arm64", EMULATED, async () => {
  const { out } = await run([...runtime, "eval", "console.log(Deno.build.target)"]);
  assert.equal(out.trim(), emulated?.target);
});

Deno.test("on arm64 a simulated boat starts, and vbg reads its devices and decoded frames", EMULATED, async () => {
  await using program = await TestProgram.start(
    "boat",
    (folder) => ["-demo", "-listen", "127.0.0.1:0", "-mdns=false", "-state-dir", `${folder}/state`],
    {},
    { runtime },
  );
  const boat = await program.url();
  const hasDevices = async () => (await (await fetch(`${boat}/devices`)).json()).length >= 10;
  await eventually("devices", hasDevices, { deadlineMs: START_MS });
  const devices = await run([...runtime, ...taskArgs("cli", "devices", "-server", boat)]);
  assert.equal(devices.code, 0, devices.err);
  const frames = await run([...runtime, ...taskArgs("cli", "values", "-decode", "-server", boat)]);
  assert.equal(frames.code, 0, frames.err);
  assert.ok(frames.out.includes('"decoded"'), frames.out);
});

Deno.test(
  "SocketCAN's functions are called on arm64 as on x64: the same errors for the same interfaces",
  EMULATED,
  async () => {
    const start = async (command: readonly string[], name: string) => {
      const flags = ["-interface", name, "-listen", "127.0.0.1:0", "-mdns=false", "-log-format", "json"];
      const { code, err } = await run([...command, ...taskArgs("boat", ...flags)]);
      return { code, reason: /Cannot [^"]*"[^"]*"[^"]*/.exec(err)?.[0] ?? err };
    };
    for (const name of ["lo", "nosuch0"]) {
      const [native, foreign] = [await start([Deno.execPath()], name), await start(runtime, name)];
      assert.deepEqual(foreign, native);
      assert.notEqual(foreign.code, 0);
    }
  },
);

Deno.test(
  `on arm64 boat and cloud survive ${ROUNDS} kills each: every message that was fed is on both disks, once`,
  EMULATED,
  async () => {
    await using lab = await ReplicationLab.start({ runtime, rate: 100 });
    for (let round = 1; round <= ROUNDS; round++) {
      lab.feed.rate = 100;
      await eventually("traffic", () => lab.feed.count >= round * MESSAGES);
      const { cursor } = await lab.converged();
      await eventually("all on the boat's disk", async () => {
        const metrics = parseMetrics(await lab.text("boat", "/metrics") ?? "");
        return metrics.get("vbg_journal_durable_seq")?.samples.get("") === cursor;
      });
      await lab.end("boat", "SIGKILL");
      await lab.end("cloud", "SIGKILL");
      await lab.begin("cloud");
      await lab.begin("boat");
    }
    await lab.converged();
    const { text, truth, isGood } = await lab.audit();
    assert.ok(isGood && text.includes("missing 0, extra 0, different 0"), text);
    assert.deepEqual([truth?.found, truth?.unrecorded, truth?.doubled], [lab.feed.count, 0, 0], text);
  },
);

Deno.test(
  "what is in the arm64 package starts: boat, cloud and vbg, with the Deno that it brings along",
  EMULATED,
  () =>
    inFolder(async (folder) => {
      const path = await makeDeb({ out: folder, deno: emulated?.deno, arch: "arm64", compression: "none" });
      assert.equal((await run(["dpkg-deb", "-x", path, `${folder}/root`])).code, 0);
      assert.equal((await run(["dpkg-deb", "-f", path, "Architecture"])).out.trim(), "arm64");
      const deno = `${folder}/root/usr/lib/vbg/bin/deno`;
      // ELF, and its machine: 183 is AArch64.
      const head = new DataView((await Deno.readFile(deno)).buffer);
      assert.deepEqual([head.getUint32(0), head.getUint16(18, true)], [0x7f454c46, 183]);
      await emulateInPlace(deno);
      for (const name of ["vbg-boat", "vbg-cloud", "vbg"]) {
        const { code, out, err } = await run([`${folder}/root/usr/bin/${name}`, "-version"], {
          DENO_DIR: `${folder}/deno`,
        });
        assert.deepEqual({ code, out }, { code: 0, out: `${name} ${VERSION}\n` }, err);
      }
    }),
);
