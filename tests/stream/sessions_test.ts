import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { compileFilter, type Filter } from "../../src/filter/mod.ts";
import {
  FrameSource,
  Sessions,
  type SessionsOptions,
  type SessionStream,
  type StreamEnd,
} from "../../src/stream/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { claim, message, nameFields } from "../support/messages.ts";
import { buildName } from "../../src/frame/mod.ts";
import { MemoryArchive } from "./memory_archive.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const MINUTE_MS = 60_000;
const ALL: { filter: Filter; timeoutMs: number } = { filter: {}, timeoutMs: 5 * MINUTE_MS };

/** Sessions on a broker with a ring of 16 frames. */
class Harbour {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  readonly broker: Broker;
  readonly source: FrameSource;
  readonly archive = new MemoryArchive();
  sessions!: Sessions;

  constructor({ firstSeq = 1, records = false } = {}) {
    this.broker = new Broker({ buses: ["can0"], ringFrames: 16, firstSeq });
    this.source = new FrameSource(this.broker, { archive: records ? this.archive : undefined });
  }

  async open(options: Partial<SessionsOptions> = {}): Promise<Sessions> {
    const { clock, source, broker } = this;
    return this.sessions = await Sessions.open({
      source,
      compile: (filter) => compileFilter(filter, { buses: broker.buses, manufacturerCode: Number }),
      clock,
      log: new Logger({ write: (line) => this.log.push(line) }),
      limits: () => ({ maxSessions: 3, maxSessionsPerOwner: 10, maxTimeoutMs: 60 * MINUTE_MS }),
      epoch: "e1",
      ...options,
    });
  }

  publish(count: number, src = 1): void {
    for (let i = 0; i < count; i++) {
      const frame = message({ src, timeUs: i });
      this.archive.append(this.broker.publish(frame), frame);
    }
  }
}

async function harbour(options: Partial<SessionsOptions> = {}): Promise<Harbour> {
  const made = new Harbour();
  await made.open(options);
  return made;
}

/** A stream with what came of it. */
interface Watched {
  stream: SessionStream;
  ends: StreamEnd[];
  next: () => Promise<number[]>;
}

function watch(sessions: Sessions, id: string): Watched {
  const ends: StreamEnd[] = [];
  const stream = sessions.stream(id, { ended: (how) => ends.push(how) });
  const next = async () => {
    const seqs: number[] = [];
    await stream.read(({ seq }) => seqs.push(seq), { maxFrames: 1000 });
    return seqs;
  };
  return { stream, ends, next };
}

Deno.test("a new session begins with the next frame, and gets what comes before its stream is opened", async () => {
  const boat = await harbour();
  const { sessions } = boat;
  boat.publish(5);
  assert.equal(sessions.put("a", ALL).cursor, 6);
  boat.publish(3);
  assert.equal(sessions.put("a", ALL).cursor, 6, "a session that is there keeps its cursor");
  const { next, stream } = watch(sessions, "a");
  assert.deepEqual(await next(), [6, 7, 8]);
  stream.end({ code: "left" });
  assert.equal(boat.broker.head, 8);
  const again = watch(sessions, "a");
  assert.deepEqual(await again.next(), [6, 7, 8], "what is not acknowledged comes again");
  await sessions.stop();
  assert.deepEqual(again.ends, [{ code: "stopped" }]);
});

Deno.test("an acknowledgement moves the cursor forward, never back, and never beyond the head", async () => {
  const boat = await harbour();
  boat.sessions.put("a", ALL);
  boat.publish(10);
  const { sessions } = boat;
  await sessions.ack("a", 4);
  assert.equal(sessions.get("a").cursor, 5);
  for (const seq of [0, 2, 3, 4]) await sessions.ack("a", seq);
  assert.equal(sessions.get("a").cursor, 5);
  await assert.rejects(sessions.ack("a", 11), { name: "SessionError", reason: "ahead" });
  await sessions.ack("a", 10);
  assert.equal(sessions.get("a").cursor, 11);
  await assert.rejects(sessions.ack("b", 1), { reason: "missing" });
  await sessions.stop();
});

Deno.test("an acknowledgement waits until the journal is safe", async () => {
  const synced = Promise.withResolvers<void>();
  const boat = await harbour({ journal: { sync: () => synced.promise } });
  boat.sessions.put("a", ALL);
  boat.publish(1);
  let isDone = false;
  const done = boat.sessions.ack("a", 1).then(() => isDone = true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(isDone, false);
  synced.resolve();
  await done;
  await boat.sessions.stop();
});

Deno.test("an acknowledgement that cannot be synced is refused, and the cursor stays", async () => {
  const asked: number[] = [];
  let isSafe = false;
  const sync = (through: number) => {
    asked.push(through);
    return isSafe ? Promise.resolve() : Promise.reject(new Error("closed"));
  };
  const boat = await harbour({ journal: { sync } });
  boat.sessions.put("a", ALL);
  boat.publish(5);
  await assert.rejects(boat.sessions.ack("a", 3), { reason: "not_durable" });
  assert.equal(boat.sessions.get("a").cursor, 1);
  isSafe = true;
  await boat.sessions.ack("a", 3);
  assert.equal(boat.sessions.get("a").cursor, 4);
  assert.deepEqual(asked, [3, 3], "frames after it need not be on disk");
  const late = boat.sessions.ack("a", 5);
  boat.sessions.newEpoch("e2");
  await late;
  assert.equal(boat.sessions.get("a").cursor, 1, "it counted in the numbers before");
  await boat.sessions.stop();
});

Deno.test("a session goes when its client is away for its timeout, and not while it is connected", async () => {
  const boat = await harbour();
  const { sessions, clock } = boat;
  sessions.put("a", ALL);
  clock.advance(5 * MINUTE_MS - 1);
  assert.equal(sessions.get("a").isStreaming, false);
  const { stream } = watch(sessions, "a");
  clock.advance(60 * MINUTE_MS);
  sessions.runHousekeeping();
  assert.deepEqual([sessions.get("a").isStreaming, sessions.streaming], [true, 1]);
  stream.end({ code: "left" });
  clock.advance(4 * MINUTE_MS);
  boat.publish(1);
  await sessions.ack("a", 1);
  clock.advance(4 * MINUTE_MS);
  assert.equal(sessions.get("a").cursor, 2, "an acknowledgement is a sign of life");
  clock.advance(MINUTE_MS);
  assert.throws(() => sessions.get("a"), { reason: "missing" });
  assert.throws(() => sessions.checkReadable("a"), { reason: "missing" });
  assert.throws(() => watch(sessions, "a"), { reason: "missing" });
  boat.publish(7);
  assert.equal(sessions.put("a", ALL).cursor, 9, "after that it begins anew");
  clock.advance(5 * MINUTE_MS);
  sessions.runHousekeeping();
  assert.equal(sessions.size, 0);
  await sessions.stop();
});

Deno.test("the timeout is capped, and so is the number of sessions", async () => {
  const { sessions, clock } = await harbour();
  assert.equal(sessions.put("a", { filter: {}, timeoutMs: 99 * MINUTE_MS }).timeoutMs, 60 * MINUTE_MS);
  sessions.put("b", ALL);
  sessions.put("c", ALL);
  assert.throws(() => sessions.put("d", ALL), { reason: "full" });
  sessions.put("c", ALL);
  clock.advance(6 * MINUTE_MS);
  assert.equal(sessions.put("b", ALL).id, "b", "one that has expired makes room");
  sessions.delete("a");
  assert.throws(() => sessions.delete("a"), { reason: "missing" });
  await sessions.stop();
});

Deno.test("a second stream takes over, and a session that is deleted ends its stream", async () => {
  const boat = await harbour();
  const { sessions } = boat;
  sessions.put("a", ALL);
  const [first, second] = [watch(sessions, "a"), watch(sessions, "a")];
  assert.deepEqual(first.ends, [{ code: "superseded" }]);
  assert.deepEqual(await first.next(), []);
  boat.publish(2);
  assert.deepEqual(await second.next(), [1, 2]);
  assert.equal(sessions.get("a").isStreaming, true);
  sessions.delete("a");
  assert.deepEqual(second.ends, [{ code: "deleted" }]);
  assert.equal(sessions.size, 0);
  await sessions.stop();
});

Deno.test("a session that has fallen behind says so, until an acknowledgement heals it", async () => {
  const boat = await harbour();
  const { sessions } = boat;
  sessions.put("a", ALL);
  const { next, ends } = watch(sessions, "a");
  boat.publish(20);
  assert.throws(() => sessions.checkReadable("a"), { name: "ErrFallenBehind", oldestSeq: 5 });
  assert.deepEqual(await next(), []);
  assert.deepEqual(ends, [{ code: "fallen_behind", oldestSeq: 5 }]);
  assert.match(boat.log.join("\n"), /fallen behind client=a error=ErrFallenBehind next=1 oldestSeq=5/);
  await sessions.ack("a", 4);
  sessions.checkReadable("a");
  assert.equal((await watch(sessions, "a").next()).length, 16);
  await sessions.stop();
});

Deno.test("a new filter holds for the stream that is open, and a filter follows devices that claim later", async () => {
  const boat = await harbour();
  const { sessions } = boat;
  sessions.put("a", { ...ALL, filter: { manufacturer: ["229"] } });
  const { next } = watch(sessions, "a");
  boat.publish(1, 7);
  boat.broker.publish(claim(buildName(nameFields({ manufacturerCode: 229 })), { src: 7 }));
  boat.publish(1, 7);
  assert.deepEqual(await next(), [1, 2, 3], "when it is read the device is known");
  sessions.put("a", { ...ALL, filter: { pgn: [60928] } });
  boat.publish(1, 7);
  boat.broker.publish(claim(1n, { src: 8 }));
  assert.deepEqual(await next(), [5]);
  await sessions.stop();
});

Deno.test("from the journal, a filter on devices goes by who had the address then", async () => {
  const boat = new Harbour({ records: true });
  await boat.open();
  const { sessions } = boat;
  sessions.put("a", { ...ALL, filter: { manufacturer: ["229"] } });
  const taken = claim(buildName(nameFields({ manufacturerCode: 229 })), { src: 7, timeUs: 0 });
  boat.archive.append(boat.broker.publish(taken), taken);
  boat.publish(2, 7);
  boat.publish(2, 8);
  const given = claim(buildName(nameFields({ manufacturerCode: 137 })), { src: 7, timeUs: 1 });
  boat.archive.append(boat.broker.publish(given), given);
  boat.publish(300, 7);
  assert.equal(boat.broker.ring.read(3, { ...message(), seq: 0 }), false);
  const later = claim(buildName(nameFields({ manufacturerCode: 229 })), { src: 9 });
  boat.broker.publish(later);
  boat.broker.publish(message({ src: 9 }));
  const { next } = watch(sessions, "a");
  const seqs = [...await next(), ...await next()];
  assert.deepEqual(seqs, [1, 2, 3, boat.broker.head - 1, boat.broker.head]);
  await sessions.stop();
});

Deno.test("a slot is there from the start, and begins anew when its client is away for its timeout", async () => {
  const slots = [{ id: "pilot", timeoutMs: MINUTE_MS, filter: { pgn: [127250] } }];
  const boat = await harbour({ slots });
  const { sessions, clock } = boat;
  boat.publish(3);
  const { next, stream } = watch(sessions, "pilot");
  assert.deepEqual(await next(), [1, 2, 3]);
  stream.end({ code: "left" });
  sessions.put("pilot", { filter: {}, timeoutMs: 2 * MINUTE_MS });
  clock.advance(2 * MINUTE_MS);
  const { cursor, filter, timeoutMs, isSlot } = sessions.get("pilot");
  assert.deepEqual([cursor, filter, timeoutMs, isSlot], [4, { pgn: [127250] }, MINUTE_MS, true]);
  boat.publish(1);
  sessions.delete("pilot");
  assert.equal(sessions.get("pilot").cursor, 5);
  for (const id of ["a", "b", "c"]) sessions.put(id, ALL);
  assert.equal(sessions.size, 4, "slots take nobody's place");
  await sessions.stop();
});

Deno.test(
  "sessions survive a restart: cursor, filter and timeout, whatever time passes meanwhile",
  DISK,
  () =>
    inFolder(async (directory) => {
      const boat = await harbour({ directory });
      boat.sessions.put("a", { filter: { pgn: [127250] }, timeoutMs: MINUTE_MS });
      boat.publish(9);
      await boat.sessions.ack("a", 4);
      await boat.sessions.stop();
      const later = new Harbour({ firstSeq: 10 });
      later.clock.advance(1000 * MINUTE_MS);
      const slots = [{ id: "a", timeoutMs: 2 * MINUTE_MS, filter: {} }];
      for (const options of [{ directory }, { directory, slots }]) {
        const sessions = await later.open(options);
        const { cursor, filter, timeoutMs, isSlot } = sessions.get("a");
        assert.equal(cursor, 5);
        assert.deepEqual([filter, timeoutMs], isSlot ? [{}, 2 * MINUTE_MS] : [{ pgn: [127250] }, MINUTE_MS]);
        assert.throws(() => sessions.checkReadable("a"), { oldestSeq: 10 }, "frames of the last run are gone");
        await sessions.stop();
      }
      const sessions = await later.open({ directory });
      await sessions.ack("a", 9);
      sessions.checkReadable("a");
      await sessions.stop();
      assert.equal((await later.open({ directory })).get("a").cursor, 10);
    }),
);

Deno.test(
  "a disk that takes nothing costs no session, and what it missed is written when it takes again",
  DISK,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/state`;
      const boat = await harbour({ directory });
      const { sessions } = boat;
      sessions.put("a", ALL);
      boat.publish(10);
      for (let seq = 1; seq <= 10; seq++) await sessions.ack("a", seq);
      await sessions.written();
      for (const id of ["b", "c"]) sessions.put(id, ALL);
      await sessions.written();
      sessions.delete("b");
      sessions.put("b2", ALL);
      assert.equal(boat.log.filter((line) => line.includes("ERROR session file not written")).length, 1);
      assert.equal(sessions.get("a").cursor, 11);
      await Deno.mkdir(directory);
      await sessions.stop();
      assert.match(boat.log.join("\n"), /INFO +session file written again/);
      const again = await new Harbour({ firstSeq: 11 }).open({ directory });
      assert.deepEqual(["a", "c", "b2"].map((id) => again.get(id).cursor), [11, 11, 11]);
      assert.throws(() => again.get("b"), { reason: "missing" });
      await again.stop();
    }),
);

Deno.test("in a new epoch streams end and say why, and sessions begin with its first frame", async () => {
  const boat = await harbour();
  const { sessions, broker } = boat;
  sessions.put("on", ALL);
  sessions.put("off", ALL);
  boat.publish(8);
  const { ends } = watch(sessions, "on");
  broker.startEpoch();
  sessions.newEpoch("e2");
  assert.deepEqual(ends, [{ code: "new_epoch" }]);
  broker.publish(message());
  broker.publish(message());
  await sessions.ack("on", 2);
  assert.equal(sessions.get("on").cursor, 1, "nothing has come of the new epoch that could be acknowledged");
  sessions.checkReadable("on");
  assert.deepEqual(await watch(sessions, "on").next(), [1, 2]);
  await sessions.ack("on", 1);
  assert.equal(sessions.get("on").cursor, 2);
  await sessions.ack("off", 7);
  assert.equal(sessions.get("off").cursor, 1, "7 is a number of the old epoch");
  sessions.checkReadable("off");
  const told = watch(sessions, "off");
  assert.deepEqual([await told.next(), told.ends], [[], [{ code: "new_epoch" }]]);
  await sessions.ack("off", 2);
  assert.deepEqual(await watch(sessions, "off").next(), [1, 2]);
  await sessions.stop();
});

Deno.test(
  "a session of an older epoch is told once, over restarts, and misses nothing of the new one",
  DISK,
  () =>
    inFolder(async (directory) => {
      const first = await harbour({ directory });
      first.sessions.put("a", ALL);
      first.sessions.put("b", ALL);
      await first.sessions.stop();
      const boat = new Harbour();
      for (let run = 0; run < 2; run++) {
        const sessions = await boat.open({ directory, epoch: "e2" });
        boat.publish(1);
        await sessions.stop();
      }
      const sessions = await boat.open({ directory, epoch: "e2" });
      const { next, ends } = watch(sessions, "a");
      assert.deepEqual([await next(), ends], [[], [{ code: "new_epoch" }]]);
      assert.equal(sessions.put("b", ALL).cursor, 1, "the cursor tells");
      assert.deepEqual(watch(sessions, "b").ends, []);
      await sessions.stop();
      const again = await boat.open({ directory, epoch: "e2" });
      const told = watch(again, "a");
      assert.deepEqual([await told.next(), told.ends], [[1, 2], []]);
      await again.stop();
    }),
);
