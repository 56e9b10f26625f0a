import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Logger, silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { compileFilter, type Filter } from "../../src/filter/mod.ts";
import { FrameSource, Sessions, type SessionsOptions } from "../../src/stream/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { message } from "../support/messages.ts";
import { allowed, needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "write"] });
const CHILD = needs({ permissions: ["env", "read", "run", "write"], others: { Linux: Deno.build.os === "linux" } });
const HOUR_MS = 3_600_000;
const FILES = ["sessions.log", "session_positions.log"];

const FULL = allowed("env") && Deno.env.get("VBG_TEST_FULL") === "1";

/** Lengths at which a file is cut: every one in the full test; otherwise those around the ends of lines, and some more. */
function cuts(bytes: Uint8Array): number[] {
  const isNear = (length: number) => bytes.subarray(Math.max(0, length - 2), length + 1).includes(0x0a);
  return Array.from({ length: bytes.length + 1 }, (_, length) => length)
    .filter((length) => FULL || length % 11 === 0 || isNear(length) || length === bytes.length);
}

/** Sessions over the files of a directory, on a boat that has published some frames. */
async function open(
  directory: string,
  { head = 1000, ...options }: Partial<SessionsOptions> & { head?: number } = {},
): Promise<Sessions> {
  const broker = new Broker({ buses: ["can0"], ringFrames: 1024, firstSeq: 1 });
  for (let i = 0; i < head; i++) broker.publish(message());
  return await Sessions.open({
    source: new FrameSource(broker),
    compile: (filter) => compileFilter(filter, { buses: broker.buses, manufacturerCode: Number }),
    clock: new FakeClock(),
    log: silentLogger,
    limits: () => ({ maxSessions: 1000, maxSessionsPerOwner: 100, maxTimeoutMs: HOUR_MS }),
    epoch: "e1",
    directory,
    ...options,
  });
}

/** Which of these sessions there are, with cursor, owner and filter. */
function stateOf(sessions: Sessions, ids: readonly string[]): Record<string, [number, string | undefined, Filter]> {
  return Object.fromEntries(ids.flatMap((id) => {
    try {
      const { cursor, filter } = sessions.get(id);
      return [[id, [cursor, sessions.ownerOf(id), filter]]];
    } catch {
      return [];
    }
  }));
}

/** A server that crashes leaves no file for older releases: it is written at an orderly stop. */
async function crash(directory: string): Promise<void> {
  await Deno.remove(`${directory}/sessions.json`);
}

const OLD = {
  version: 1,
  sessions: [
    { id: "pilot", epoch: "e1", cursor: 17, timeoutMs: 60_000, filter: { pgn: [127250] } },
    { id: "logger", epoch: "e0", cursor: 900, timeoutMs: 60_000, filter: {} },
    { id: "a b", epoch: "e1", cursor: 1, timeoutMs: 1, filter: {} },
    null,
    { id: "no-cursor", epoch: "e1", cursor: 0, timeoutMs: 1, filter: {} },
    { id: "odd", epoch: "e1", cursor: 5, timeoutMs: 60_000, filter: { pgn: [1], instance: ["x"], bus: "can0" } },
  ],
};

Deno.test(
  "sessions of an older release are taken over with cursor and filter, once, and have no owner",
  DISK,
  () =>
    inFolder(async (directory) => {
      await Deno.writeTextFile(`${directory}/sessions.json`, JSON.stringify(OLD));
      const first = await open(directory);
      await first.stop();
      assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
        "session_positions.log",
        "sessions.json",
        "sessions.log",
      ]);
      const sessions = await open(directory);
      assert.deepEqual(stateOf(sessions, ["pilot", "logger", "a b", "no-cursor", "odd"]), {
        pilot: [17, undefined, { pgn: [127250] }],
        logger: [1, undefined, {}],
        odd: [5, undefined, { pgn: [1] }],
      });
      await sessions.stop();
    }),
);

Deno.test(
  "after a roll back sessions are where the older release has left them, and keep their owners",
  DISK,
  () =>
    inFolder(async (directory) => {
      const first = await open(directory, { head: 50 });
      const client = { token: "nav", isAdmin: false, network: "n" };
      for (const id of ["a", "b", "c"]) first.put(id, { filter: {}, timeoutMs: HOUR_MS, client });
      for (const id of ["a", "b", "c"]) await first.ack(id, 50);
      await first.stop();
      const path = `${directory}/sessions.json`;
      const { version, sessions } = JSON.parse(await Deno.readTextFile(path));
      const [a, b] = sessions;
      assert.deepEqual([version, a], [1, { id: "a", timeoutMs: HOUR_MS, filter: {}, epoch: "e1", cursor: 51 }]);
      // The older release: one session has gone on, one has gone, one is new.
      const made = { id: "d", epoch: "e1", cursor: 300, timeoutMs: HOUR_MS, filter: { pgn: [7] } };
      await Deno.writeTextFile(path, JSON.stringify({ version, sessions: [{ ...a, cursor: 201 }, b, made] }));
      for (let round = 0; round < 2; round++) {
        const again = await open(directory);
        assert.deepEqual(stateOf(again, ["a", "b", "c", "d"]), {
          a: [201, "nav", {}],
          b: [51, "nav", {}],
          d: [300, undefined, { pgn: [7] }],
        });
        await again.stop();
      }
    }),
);

Deno.test(
  "an older release's file that cannot be read costs its sessions and not the start",
  DISK,
  () =>
    inFolder(async (directory) => {
      for (const text of ["", "{", "[]", "null", '{"version":2,"sessions":[]}', '{"version":1,"sessions":{}}']) {
        await Deno.writeTextFile(`${directory}/sessions.json`, text);
        const lines: string[] = [];
        const sessions = await open(directory, { log: new Logger({ write: (line) => lines.push(line) }) });
        assert.equal(sessions.size, 0);
        assert.match(lines.join("\n"), /ERROR (session|state) file not readable/, text);
        await sessions.stop();
      }
    }),
);

Deno.test(
  "a crash while an older release's sessions are taken over loses none, wherever it comes",
  DISK,
  () =>
    inFolder(async (folder) => {
      const whole = `${folder}/whole`;
      await Deno.mkdir(whole);
      await Deno.writeTextFile(`${whole}/sessions.json`, JSON.stringify(OLD));
      await (await open(whole)).stop();
      const [definitions, positions] = await Promise.all(FILES.map((name) => Deno.readFile(`${whole}/${name}`)));
      const here = `${folder}/crashed`;
      const crashed = async (files: Record<string, Uint8Array | undefined>) => {
        await Deno.mkdir(here);
        for (const [name, bytes] of Object.entries(files)) if (bytes) await Deno.writeFile(`${here}/${name}`, bytes);
        const sessions = await open(here);
        const { pilot } = stateOf(sessions, ["pilot"]);
        await sessions.stop();
        await Deno.remove(here, { recursive: true });
        return pilot?.[0];
      };
      const old = new TextEncoder().encode(JSON.stringify(OLD));
      const steps = [
        { "sessions.json": old },
        { "sessions.json": old, ".sessions.log.tmp": definitions?.subarray(0, 20) },
        { "sessions.json": old, "sessions.log": definitions },
        { "sessions.log": definitions },
        { "sessions.log": definitions, ".session_positions.log.tmp": positions?.subarray(0, 9) },
        { "sessions.log": definitions, "session_positions.log": positions },
      ];
      for (const [index, files] of steps.entries()) assert.equal(await crashed(files), 17, `step ${index}`);
    }),
);

Deno.test(
  "cut at any byte, positions are those of an earlier moment, and no session is lost",
  DISK,
  () =>
    inFolder(async (directory) => {
      const ids = ["a", "b", "c"];
      const sessions = await open(directory);
      for (const id of ids) sessions.put(id, { filter: {}, timeoutMs: HOUR_MS });
      sessions.newEpoch("e2");
      for (const id of ids) sessions.put(id, { filter: {}, timeoutMs: HOUR_MS });
      await sessions.written();
      /** Cursors that were acknowledged and written, in their order. */
      const acked: Record<string, number[]> = { a: [1], b: [1], c: [1] };
      for (let seq = 10; seq <= 100; seq += 10) {
        for (const id of ids.slice(0, 1 + seq % 3)) {
          await sessions.ack(id, seq);
          acked[id]?.push(seq + 1);
        }
        await sessions.written();
      }
      await sessions.stop();
      const path = `${directory}/session_positions.log`;
      const bytes = await Deno.readFile(path);
      const definitions = await Deno.readFile(`${directory}/sessions.log`);
      const before: Record<string, number> = {};
      for (const length of cuts(bytes)) {
        await crash(directory);
        await Deno.writeFile(path, bytes.subarray(0, length));
        await Deno.writeFile(`${directory}/sessions.log`, definitions);
        const found = await open(directory, { epoch: "e2" });
        for (const id of ids) {
          const { cursor } = found.get(id);
          assert.ok(acked[id]?.includes(cursor), `${id} at ${length} bytes is at ${cursor}`);
          assert.ok(cursor >= (before[id] ?? 1), `${id} at ${length} bytes has lost ground`);
          before[id] = cursor;
        }
        await found.ack("a", 900);
        await found.stop();
        const after = await open(directory, { epoch: "e2" });
        assert.equal(after.get("a").cursor, 901, `what is written after a cut at ${length} bytes is read`);
        await after.stop();
      }
      assert.deepEqual(before, { a: 101, b: acked.b?.at(-1), c: acked.c?.at(-1) });
    }),
);

Deno.test("cut at any byte, definitions are those of an earlier moment", DISK, () =>
  inFolder(async (directory) => {
    const sessions = await open(directory);
    /** What there was after each write. */
    const moments: string[] = ["{}"];
    const ids = ["a", "b"];
    const steps = [
      () => sessions.put("a", { filter: { pgn: [1] }, timeoutMs: HOUR_MS }),
      () =>
        sessions.put("b", { filter: {}, timeoutMs: HOUR_MS, client: { token: "nav", isAdmin: false, network: "n" } }),
      () => sessions.put("a", { filter: { pgn: [2] }, timeoutMs: HOUR_MS }),
      () => sessions.delete("b"),
      () => sessions.put("b", { filter: { bus: ["can0"] }, timeoutMs: HOUR_MS }),
      () => sessions.put("a", { filter: {}, timeoutMs: 1000, client: { token: "log", isAdmin: false, network: "n" } }),
    ];
    for (const step of steps) {
      step();
      moments.push(JSON.stringify(stateOf(sessions, ids)));
      await sessions.written();
    }
    await sessions.stop();
    const path = `${directory}/sessions.log`;
    const bytes = await Deno.readFile(path);
    let moment = 0;
    for (const length of cuts(bytes)) {
      await crash(directory);
      await Deno.writeFile(path, bytes.subarray(0, length));
      const found = await open(directory);
      const state = JSON.stringify(stateOf(found, ids));
      await found.stop();
      while (moments[moment] !== state && moment < moments.length) moment++;
      assert.ok(moment < moments.length, `${state} at ${length} bytes was never so, or earlier`);
    }
    assert.equal(moment, moments.length - 1);
  }));

Deno.test(
  "a session that is made again does not get the position of the one before it",
  DISK,
  () =>
    inFolder(async (directory) => {
      const first = await open(directory);
      first.put("a", { filter: {}, timeoutMs: HOUR_MS });
      await first.written();
      // A crash may come between the two files: keep the positions of the session that is deleted then.
      await first.ack("a", 1000);
      await first.written();
      const positions = await Deno.readFile(`${directory}/session_positions.log`);
      first.delete("a");
      await first.stop();
      const second = await open(directory, { head: 10 });
      second.put("a", { filter: {}, timeoutMs: HOUR_MS });
      await second.stop();
      await Deno.writeFile(`${directory}/session_positions.log`, positions);
      const third = await open(directory);
      assert.equal(third.get("a").cursor, 11);
      await third.stop();
    }),
);

Deno.test(
  "a PUT that changes nothing, and asking how a session stands, write nothing",
  DISK,
  () =>
    inFolder(async (directory) => {
      const sessions = await open(directory);
      const wish = { filter: { pgn: [1, 2] }, timeoutMs: 1000 };
      sessions.put("a", wish);
      await sessions.written();
      const sizes = () => FILES.map((name) => Deno.statSync(`${directory}/${name}`).size);
      const before = sizes();
      for (let i = 0; i < 10; i++) sessions.put("a", wish);
      sessions.get("a");
      await sessions.ack("a", 0);
      await sessions.written();
      const [definitions = 0, positions = 0] = sizes().map((size, index) => size - (before[index] ?? 0));
      assert.equal(definitions, 0);
      assert.ok(positions <= 40, "the first acknowledgement says that it was read");
      await sessions.ack("a", 0);
      await sessions.written();
      assert.equal(sizes()[1], (before[1] ?? 0) + positions);
      await sessions.stop();
    }),
);

Deno.test(
  "1000 sessions with 256 entries each that acknowledge all the time write tens of bytes for each",
  CHILD,
  () =>
    inFolder(async (directory) => {
      const rounds = FULL ? 200 : 20;
      const script = fileURLToPath(new URL("./session_writer.ts", import.meta.url));
      const args = ["run", "-A", "--no-check", script, directory, String(rounds)];
      const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      const { made, acked }: { made: number; acked: number } = JSON.parse(new TextDecoder().decode(stdout));
      const definitions = Deno.statSync(`${directory}/sessions.log`).size;
      assert.ok(made <= 2 * definitions, `${made} bytes written for definitions of ${definitions}`);
      const perAck = acked / (1000 * rounds);
      assert.ok(perAck >= 10 && perAck <= 50, `${perAck} bytes for an acknowledgement`);
      const positions = Deno.statSync(`${directory}/session_positions.log`).size;
      assert.ok(positions <= 200_000, `the positions have ${positions} bytes`);
      const sessions = await open(directory, { head: rounds });
      assert.equal(sessions.size, 1000);
      for (let index = 0; index < 1000; index++) assert.equal(sessions.get(`client-${index}`).cursor, rounds + 1);
      await sessions.stop();
    }),
);
