import assert from "node:assert/strict";
import { evaluateInterfaces } from "../../cli/commands/doctor/can.ts";
import { checkCertificate, checkDirectory, checkServerCertificate } from "../../cli/commands/doctor/machine.ts";
import { evaluateHealth } from "../../cli/commands/doctor/server.ts";
import { TestBoat } from "../support/boat.ts";
import { TestAuthority } from "../support/certificates.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const ALL = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const TLS = needs({ permissions: ["net", "read", "run", "sys", "write"], programs: ["openssl"] });

const DAY_MS = 86_400_000;
const LIMITS = { warnFreeBytes: 0, failFreeBytes: 0, certificateMs: 14 * DAY_MS };

/** An interface as `ip -details -json link show` prints it. */
function link(ifname: string, { up = true, kind = "can", state = "ERROR-ACTIVE", bitrate = 250_000 } = {}) {
  const flags = up ? ["NOARP", "UP", "ECHO"] : ["NOARP", "ECHO"];
  return {
    ...{ ifname, flags, link_type: "can" },
    linkinfo: { info_kind: kind, info_data: { state, bittiming: { bitrate, sample_point: "0.875" } } },
  };
}

Deno.test("doctor: a CAN interface is judged by what the system says of it", () => {
  const links = [
    { ifname: "lo", flags: ["LOOPBACK", "UP"], link_type: "loopback" },
    link("can0"),
    link("can1", { up: false }),
    link("can2", { state: "BUS-OFF" }),
    link("can3", { state: "ERROR-PASSIVE" }),
    link("can4", { bitrate: 500_000 }),
    { ifname: "vcan0", flags: ["NOARP", "UP"], link_type: "can", linkinfo: { info_kind: "vcan" } },
  ];
  const states = (names: string[]) =>
    evaluateInterfaces(JSON.stringify(links), names).map(({ name, state }) => `${name} ${state}`);
  assert.deepEqual(states([]), [
    ...["interface can0 ok", "interface can1 fail", "interface can2 fail"],
    ...["interface can3 warn", "interface can4 fail", "interface vcan0 ok"],
  ]);
  assert.deepEqual(states(["can0", "can9", "lo"]), ["interface can0 ok", "interface can9 fail", "interface lo fail"]);
  assert.deepEqual(evaluateInterfaces("[]", []).map(({ state }) => state), ["skip"]);
});

Deno.test("doctor: parts of a server are told as it tells them, and a cloud's are, too", () => {
  const findings = evaluateHealth({
    status: "degraded",
    components: { can0: { status: "ok" }, journal: { status: "unhealthy", message: "no room" } },
  });
  assert.deepEqual(findings, [
    { name: "server's health", state: "warn", text: "degraded" },
    { name: "server: can0", state: "ok", text: "ok" },
    { name: "server: journal", state: "fail", text: "no room" },
  ]);
  assert.deepEqual(evaluateHealth({ status: "ok" }), [{ name: "server's health", state: "ok", text: "ok" }]);
});

Deno.test("doctor: a directory has to be there, and its disk to have room", DISK, () =>
  inFolder(async (folder) => {
    const check = async (path: string | undefined, limits = {}) => {
      const words = { name: "journal directory", flag: "-journal-dir", limits: { ...LIMITS, ...limits } };
      return (await checkDirectory(path, words)).state;
    };
    assert.equal(await check(folder), "ok");
    assert.deepEqual([...Deno.readDirSync(folder)], [], "nothing stays there");
    assert.equal(await check(folder, { warnFreeBytes: Infinity }), "warn");
    assert.equal(await check(folder, { warnFreeBytes: Infinity, failFreeBytes: Infinity }), "fail");
    assert.equal(await check(`${folder}/none`), "fail");
    assert.equal(await check(undefined), "skip");
  }));

Deno.test(
  "doctor: a certificate that ends soon is a warning, and one that has ended a failure",
  TLS,
  () =>
    inFolder(async (folder) => {
      const { certPath, keyPath } = await (await TestAuthority.make(folder)).issue("boat", { days: 60 });
      const nowMs = Date.now() + 60_000;
      const at = async (days: number) =>
        (await checkCertificate(certPath, { nowMs: nowMs + days * DAY_MS, limits: LIMITS })).state;
      assert.deepEqual(await Promise.all([0, 50, 61, -10].map(at)), ["ok", "warn", "fail", "fail"]);
      assert.equal((await checkCertificate(keyPath, { nowMs, limits: LIMITS })).state, "fail");
      const pair = { cert: Deno.readTextFileSync(certPath), key: Deno.readTextFileSync(keyPath) };
      const listen = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
      await using server = Deno.serve({ ...listen, ...pair }, () => new Response());
      const ofServer = async (days: number) => {
        const options = { nowMs: nowMs + days * DAY_MS, limits: LIMITS, timeoutMs: 60_000 };
        return (await checkServerCertificate(`https://127.0.0.1:${server.addr.port}/`, options)).map(({ state }) =>
          state
        );
      };
      assert.deepEqual([await ofServer(0), await ofServer(61)], [["ok"], ["fail"]]);
    }),
);

Deno.test(
  "vbg doctor asks the server, looks at the machine, and its code tells whether all is well",
  ALL,
  () =>
    inFolder(async (folder) => {
      await using boat = await TestBoat.start();
      const machine = ["-journal-dir", folder, "-warn-free", "0", "-fail-free", "0"];
      const { code, out } = await runCommand(["doctor", "-json=false", "-server", boat.url, ...machine]);
      assert.match(out, new RegExp(`^\\[OK\\] server: ${boat.url} answers\n\\[OK\\] server's health: ok; 0 devices`));
      assert.match(out, /\n\[OK\] server: can0: ok\n/);
      assert.match(out, new RegExp(`\n\\[OK\\] journal directory: ${folder}: can be written, `));
      assert.match(out, /\n\[SKIP\] state directory: not checked; -state-dir names it\n/);
      assert.equal(code, out.includes("[FAIL]") ? 1 : 0);
      const bad = await runCommand(["doctor", "-server", boat.url, "-interfaces", "nobus7"]);
      const { ok, checks }: { ok: boolean; checks: { name: string; state: string }[] } = JSON.parse(bad.out);
      assert.equal(ok, !checks.some(({ state }) => state === "fail"));
      assert.equal(bad.code, ok ? 0 : 1);
    }),
);

Deno.test("vbg doctor fails where a server that was named is not there", ALL, async () => {
  const { code, out } = await runCommand(["doctor", "-server", "http://127.0.0.1:1"]);
  assert.equal(code, 1);
  assert.equal(JSON.parse(out).checks[0].state, "fail");
});

Deno.test("vbg doctor -bus prints what a server has found on its buses, with advice", ALL, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ names: ["can7"], clock });
  const claims = [77, 78].map((uniqueNumber) => ({ uniqueNumber, manufacturerCode: 275 }));
  const args = ["doctor", "-bus", "-server", boat.url];
  const silent = await runCommand([...args, "-json=false"]);
  assert.equal(silent.out, "can7: load 0 %, at most 0 %\nNo traffic was measured yet: nothing could be checked\n");
  const text = await eventually("the conflict", async () => {
    for (const fields of claims) boat.claim(7, fields);
    boat.say({ src: 7 });
    clock.advance(500);
    const { out, code } = await runCommand([...args, "-json=false"]);
    assert.equal(code, out.includes("[CRITICAL]") ? 1 : 0);
    return code === 1 && out;
  });
  assert.match(text, /^can7: load [\d.]+ %, at most [\d.]+ %/);
  assert.match(
    text,
    /\n\[CRITICAL\] Two devices claim address 7 of can7 .* \(since .* UTC, 90 % sure\)\n {2}Give one of the two /,
  );
  const { ok, findings } = JSON.parse((await runCommand(args)).out);
  assert.deepEqual([ok, findings[0].kind, findings[0].src], [false, "address_conflict", 7]);
});

Deno.test(
  "vbg doctor -bus checks recordings without a server; without -bus it takes no files",
  ALL,
  () =>
    inFolder(async (folder) => {
      const healthy = await runCommand(["doctor", "-bus", "-json=false", "tests/data/candump_sample3.txt"]);
      assert.equal(healthy.code, 0);
      assert.match(healthy.out, /^slcan0: load .*\nNothing is wrong on the buses\n$/);
      // A position of 0, 0, as candump writes it.
      const line = (ms: number) => `(${(1_700_000_000 + ms / 1000).toFixed(6)}) can0 09F80102#0000000000000000\n`;
      const path = `${folder}/zero.log`;
      await Deno.writeTextFile(path, Array.from({ length: 300 }, (_, i) => line(i * 100)).join(""));
      const { code, out } = await runCommand(["doctor", "-bus", path]);
      const { findings } = JSON.parse(out);
      assert.deepEqual([code, findings.map(({ kind }: { kind: string }) => kind)], [1, ["impossible_value"]]);
      assert.equal((await runCommand(["doctor", path])).code, 2);
      assert.equal((await runCommand(["doctor", "-bus", `${folder}/none`])).code, 1);
    }),
);
