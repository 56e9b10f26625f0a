import assert from "node:assert/strict";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { GatewayPeer } from "../support/gateway_peer.ts";
import { appendRange, journalFiles, makeWriter, wantedRange } from "../support/journal_run.ts";
import { mayMount, mount, unmount } from "../support/mounts.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { SessionClient } from "../support/session.ts";

const PROCESSES = needs({ permissions: ["run", "read", "write", "net", "env", "sys"] });
const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const MOUNTS = needs({
  permissions: ["env", "read", "run", "sys", "write"],
  others: { "the right to mount": mayMount() },
});

const HEADING = "09F11215";
/** PGN 130762 with both lamps on: fault 2 of number 520234. */
const ALARM = ["19FECA15", "504cfe0542ff08ff"] as const;
const LOGS = ["tail-a", "tail-b"];

/** What is fed: frames that differ from each other, and an alarm as the last one. */
function framesToFeed(count: number): { lines: string; payloads: string[] } {
  const payloads = Array.from({ length: count - 1 }, (_, i) => (i + 1).toString(16).padStart(16, "0"));
  const line = (id: string, payload: string) => `12:00:00.000 R ${id} ${payload.match(/../g)?.join(" ")}\r\n`;
  const lines = payloads.map((payload) => line(HEADING, payload)).join("") + line(...ALARM);
  return { lines, payloads: [...payloads, ALARM[1]] };
}

/** Everything of a directory that a reader could change. */
async function digestOf(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    const { ino, mode, mtime, ctime, size } = await Deno.stat(path);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
    found[name] = [hash, size, ino, mode, mtime?.getTime(), ctime?.getTime()].join(" ");
  }
  return found;
}

async function jsonOf(...args: string[]) {
  const { code, out, err } = await runCommand(args);
  return { code, err, found: JSON.parse(out) };
}

async function dumped(...paths: string[]): Promise<string[]> {
  const { out } = await runCommand(["dump", ...paths]);
  return out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).data);
}

/** Reads a directory with each command that reads in this process. */
async function readWithAll(directory: string, { payloads, out }: { payloads: string[]; out: string }): Promise<void> {
  assert.deepEqual(await dumped(directory), payloads, "dump");
  const verified = await jsonOf("verify", directory);
  assert.deepEqual([verified.code, verified.found.ok], [0, true], JSON.stringify(verified.found));
  const sum = (files: { frames: number }[]) => files.reduce((all, { frames }) => all + frames, 0);
  assert.equal(sum(verified.found.files), payloads.length, "verify");
  assert.equal(verified.found.runs[0].last_seq, payloads.length);
  assert.deepEqual(verified.found.runs[0].gaps, []);
  const inspected = await runCommand(["inspect", directory]);
  assert.equal(sum(inspected.out.trim().split("\n").map((line) => JSON.parse(line))), payloads.length, "inspect");
  const { found: alarms } = await jsonOf("alarms", directory);
  assert.deepEqual(alarms.map(({ code }: { code: string }) => code), ["spn 520234 fmi 2"], "alarms");
  const audited = await runCommand(["audit", "-boat", directory, "-cloud", directory]);
  const { epochs: [epoch] } = JSON.parse(audited.out);
  assert.deepEqual([audited.code, epoch.same], [0, payloads.length], "audit");
  assert.equal((await runCommand(["repair", directory, "-out", out])).code, 0);
  assert.deepEqual([...Deno.readDirSync(out)].filter(({ name }) => !name.endsWith(".lpj")), []);
  assert.deepEqual(await dumped(out), payloads, "repair");
  await Deno.remove(out, { recursive: true });
}

/** Plays a directory at full speed. */
async function simulated(directory: string): Promise<string[]> {
  const slots = '[{"id":"all","buffer_timeout":"PT1M"}]';
  await using program = await TestProgram.start("vbg", () => {
    return ["simulate", "-dir", directory, "-listen", "127.0.0.1:0", "-speed", "0", "-exit-when-done", "-slots", slots];
  });
  await using stream = await new SessionClient(await program.url(), { id: "all" }).events();
  assert.equal(await program.exitCode(), 0, program.log);
  await eventually("the end of the stream", () => stream.ended);
  return stream.texts.flatMap((text) => JSON.parse(text).data ?? []);
}

for (
  const { kind, count, flags, files } of [
    { kind: "young", count: 1000, flags: [], files: 0 },
    { kind: "grown", count: 3000, flags: ["-journal-block-size", "4096"], files: 1 },
  ]
) {
  Deno.test(
    `offline commands read every frame of a ${kind} journal while its server runs and after SIGKILL, and change nothing`,
    PROCESSES,
    () =>
      inFolder(async (folder) => {
        const [directory, out] = [`${folder}/journal`, `${folder}/out`];
        const peer = new GatewayPeer();
        try {
          await using boat = await TestProgram.start("boat", (state) => [
            ...["-interface", `tcp://127.0.0.1:${peer.port}?name=wifi0#ydwg`, "-journal-dir", directory],
            ...["-state-dir", state, "-listen", "127.0.0.1:0", ...flags],
          ]);
          const url = await boat.url();
          await eventually("the gateway", () => peer.open === 1);
          const { lines, payloads } = framesToFeed(count);
          await peer.say(lines);
          await eventually("all frames on disk", async () => {
            const metrics = await (await fetch(`${url}/metrics`)).text();
            return metrics.includes(`\nvbg_journal_durable_seq ${count}\n`);
          });
          assert.ok(journalFiles(directory).length >= files);
          await readWithAll(directory, { payloads, out });
          boat.signal("SIGKILL");
          await boat.exitCode();
          assert.equal(journalFiles(directory).length > 0, files > 0);
          const before = await digestOf(directory);
          assert.ok(LOGS.some((name) => name in before));
          await readWithAll(directory, { payloads, out });
          assert.deepEqual(await simulated(directory), payloads, "simulate");
          assert.deepEqual(await digestOf(directory), before);
        } finally {
          await peer.stop();
        }
      }),
  );
}

/** A directory as a power cut leaves it after the frames 1 to 400 were synced. */
async function cutShort(folder: string): Promise<string> {
  const [directory, left] = [`${folder}/open`, `${folder}/left`];
  await Deno.mkdir(directory);
  const { writer } = makeWriter(directory);
  // Synced often, so that the other log has frames, too: of a block that is in a file.
  for (let from = 1; from < 400; from += 50) {
    appendRange(writer, from, from + 49);
    await writer.sync();
  }
  copyAsCrashed(directory, left);
  await writer.close();
  return left;
}

/** The log that holds the newest frames. */
async function newestLog(directory: string): Promise<string> {
  const { out } = await runCommand(["inspect", directory]);
  const { path } = JSON.parse(out.trim().split("\n").at(-1)!);
  assert.ok(LOGS.some((name) => path === `${directory}/${name}`), path);
  return path;
}

const dataOf = (from: number, to: number) => wantedRange(from, to).map(({ data }) => data);

Deno.test(
  "a torn write-ahead log is read to its last whole record, and every command says so",
  DISK,
  () =>
    inFolder(async (folder) => {
      const left = await cutShort(folder);
      const log = await newestLog(left);
      await Deno.truncate(log, (await Deno.stat(log)).size - 3);
      const whole = dataOf(1, 399);
      assert.deepEqual(await dumped(left), whole);
      const said = async (...args: string[]) => {
        const { out, err } = await runCommand(args);
        return out + err;
      };
      assert.match(await said("dump", left), /write-ahead log is torn .*tail-[ab].* unreadableBytes=\d+/);
      assert.match(await said("inspect", left), /"torn_at":\d+/);
      assert.match(await said("inspect", "-json=false", left), /torn: \d+ bytes/);
      assert.match(await said("alarms", left), /tail-[ab]: torn, \d+ bytes cannot be read/);
      assert.match(
        await said("audit", "-boat", left, "-cloud", left, "-json=false"),
        /tail-[ab]: torn behind byte \d+/,
      );
      assert.match(await said("repair", left, "-out", `${folder}/out`), /\d+ bytes that are no whole record/);
      assert.deepEqual(await dumped(`${folder}/out`), whole);
      const { code, found } = await jsonOf("verify", left);
      const notes = found.files.flatMap(({ notes }: { notes: { what: string }[] }) => notes.map(({ what }) => what));
      assert.deepEqual([code, found.runs[0].last_seq], [0, 399], "what was not synced is no error");
      assert.match(notes.join(), /^\d+ bytes that are no whole record: cut off, or being written$/);
      await Deno.writeFile(log, new Uint8Array(100));
      assert.match(await said("verify", left), /tail-[ab].*"epoch":null.*100 bytes that are no whole record/);
    }),
);

Deno.test(
  "a file whose last block was being written is whole with its log, and an error without",
  DISK,
  () =>
    inFolder(async (folder) => {
      const left = await cutShort(folder);
      const log = await newestLog(left);
      const [name = ""] = journalFiles(left);
      await Deno.writeFile(`${left}/${name}`, new Uint8Array(500).fill(7), { append: true });
      const torn = await digestOf(left);
      assert.deepEqual(await dumped(left), dataOf(1, 400));
      const kept = await jsonOf("verify", left);
      assert.deepEqual([kept.code, kept.found.errors], [0, 0]);
      assert.match(JSON.stringify(kept.found.files[0].notes), /500 bytes of a block that is being written/);
      const { found: { files } } = await jsonOf("repair", left, "-out", `${folder}/out`);
      assert.deepEqual(files.flatMap(({ lost }: { lost: unknown[] }) => lost), []);
      assert.deepEqual(await digestOf(left), torn);
      await Deno.remove(log);
      assert.equal((await jsonOf("verify", left)).code, 1);
    }),
);

Deno.test(
  "frames that the logs share with files count once, and a directory without both is no journal",
  DISK,
  () =>
    inFolder(async (folder) => {
      const left = await cutShort(folder);
      assert.deepEqual(LOGS.filter((name) => Deno.readDirSync(left).some((each) => each.name === name)), LOGS);
      assert.deepEqual(await dumped(left), dataOf(1, 400));
      const { found } = await jsonOf("verify", left);
      assert.equal(found.runs[0].repeated, 0);
      for (const name of LOGS) await Deno.remove(`${left}/${name}`);
      for (const name of journalFiles(left)) await Deno.remove(`${left}/${name}`);
      for (const command of ["dump", "verify", "inspect", "alarms"]) {
        const { code, err } = await runCommand([command, left]);
        assert.equal(code, 1, command);
        assert.match(err, /No journal is in ".*": it has neither \.lpj files nor a write-ahead log/);
      }
    }),
);

Deno.test("a directory on a read-only disk is read", MOUNTS, () =>
  inFolder(async (folder) => {
    const left = await cutShort(folder);
    mount(["--bind", left, left]);
    try {
      mount(["-o", "remount,bind,ro", left]);
      assert.deepEqual(await dumped(left), dataOf(1, 400));
      assert.equal((await jsonOf("verify", left)).found.runs[0].last_seq, 400);
      assert.equal((await runCommand(["repair", left, "-out", `${folder}/out`])).code, 0);
      assert.deepEqual(await dumped(`${folder}/out`), dataOf(1, 400));
    } finally {
      unmount(left);
    }
  }));
