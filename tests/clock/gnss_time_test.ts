import assert from "node:assert/strict";
import { join } from "node:path";
import { Assembler, type RecordedItem } from "../../src/can/mod.ts";
import { gnssTimeOf } from "../../src/clock/mod.ts";
import { type Message, pgnOfId } from "../../src/frame/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { message } from "../support/messages.ts";
import { environment, needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { readAll, sampleBytes, SAMPLES } from "../support/recordings.ts";

const PGNS = [126992, 129029, 129033];
const DAY_US = 86_400_000_000;
const READ = needs({ permissions: ["env", "read"] });
/** A directory with whole recordings; default: none are read. */
const WHOLE = environment("VBG_TEST_RECORDINGS");

/** Time of a message by the decoder of PGNs. */
function decodedTime({ pgn, data, offset, length }: Message): number | undefined {
  const fields = decode(pgn, data.subarray(offset, offset + length)) ?? assert.fail();
  const { days_since_1970: day, seconds_today: second, time_source: source, gnss_method: method } = fields;
  if (pgn === 126992 && !(typeof source === "number" && source <= 2)) return undefined;
  if (pgn === 129029 && !(typeof method === "number" && method >= 1 && method <= 6)) return undefined;
  if (pgn === 129033) {
    const { date, time } = fields;
    if (typeof date !== "string" || typeof time !== "string") return undefined;
    const [hours, minutes, seconds] = time.split(":").map(Number);
    const us = Math.round(((hours! * 60 + minutes!) * 60 + seconds!) * 1e6);
    return us < DAY_US + 1e6 ? Date.parse(date) * 1000 + us : undefined;
  }
  // As a number, the reserved day 0xfffd is decoded; as a date it is not.
  const isTime = typeof day === "number" && day < 0xfffd && typeof second === "number" && second < 86_401;
  return isTime ? day * DAY_US + Math.round(second * 1e6) : undefined;
}

/** Compares all messages of a recording; returns how many told a time. */
function compare(items: readonly RecordedItem[]): number {
  let told = 0;
  const check = (each: Message) => {
    if (!PGNS.includes(each.pgn)) return assert.equal(gnssTimeOf(each), undefined);
    const time = gnssTimeOf(each);
    assert.equal(time, decodedTime(each), `${each.pgn} ${each.data.subarray(each.offset).toHex()}`);
    if (time !== undefined) told++;
  };
  const assembler = new Assembler(check);
  for (const { kind, id, timeUs, data } of items) {
    const frame = { id, timeUs, monoMs: timeUs / 1000, data, offset: 0, length: data.length };
    if (kind === "frame") assembler.push(frame);
    else check({ ...frame, bus: 0, pgn: pgnOfId(id) });
  }
  return told;
}

Deno.test({
  name: "the time of every message of the recordings is that which the decoder says",
  ...READ,
  fn: async () => {
    let told = 0;
    for (const { file } of SAMPLES) told += compare((await readAll([sampleBytes(file)])).items);
    assert.ok(told > 20, `${told} messages told a time`);
  },
});

Deno.test({
  name: "the time of every message of whole recordings is that which the decoder says",
  ...needs({
    permissions: ["env", "read"],
    extras: { "VBG_TEST_RECORDINGS, a directory with whole recordings": WHOLE !== undefined },
  }),
  fn: async () => {
    let told = 0;
    for (const { name } of Deno.readDirSync(WHOLE!)) {
      told += compare((await readAll([Deno.readFileSync(join(WHOLE!, name))])).items);
    }
    assert.ok(told > 500, `${told} messages told a time`);
  },
});

Deno.test("any payload of any length tells the time that the decoder says", () => {
  const random = new Random(4);
  let told = 0;
  for (let i = 0; i < 30_000; i++) {
    const pgn = random.pick(PGNS);
    const data = random.bytes(random.int(60));
    // Times of day and fields that are not available are rare in random bytes.
    const at = pgn === 126992 ? 2 : pgn === 129029 ? 1 : 0;
    if (random.chance(0.7) && data.length >= at + 6) {
      new DataView(data.buffer).setUint32(at + 2, random.int(864_020_000), true);
      if (random.chance(0.1)) data.fill(0xff, at, at + random.pick([2, 6]));
      if (random.chance(0.1)) data.set([random.between(0xfb, 0xff), 0xff], at);
      if (random.chance(0.1)) {
        new DataView(data.buffer).setUint32(at + 2, random.between(864_009_990, 864_010_010), true);
      }
    }
    const each = message({ pgn, data });
    const time = gnssTimeOf(each);
    assert.equal(time, decodedTime(each), `${pgn} ${data.toHex()}`);
    if (time !== undefined) told++;
  }
  assert.ok(told > 5000 && told < 25_000, `${told} of 30000 told a time`);
});

Deno.test("only clocks of satellites and radio stations tell the time", () => {
  const systemTime = (source: number) =>
    gnssTimeOf(message({ pgn: 126992, data: [0, 0xf0 | source, 0x20, 0x4e, 0x10, 0x27, 0, 0] }));
  const wanted = 20_000 * DAY_US + 1_000_000;
  assert.deepEqual([0, 1, 2].map(systemTime), [wanted, wanted, wanted]);
  assert.deepEqual([3, 4, 5, 15].map(systemTime), [undefined, undefined, undefined, undefined]);
  const fix = (method: number) => {
    const data = new Uint8Array(43);
    data.set([0, 0x20, 0x4e, 0x10, 0x27]);
    data[31] = method << 4;
    return gnssTimeOf(message({ pgn: 129029, data }));
  };
  assert.deepEqual([1, 2, 6].map(fix), [wanted, wanted, wanted]);
  assert.deepEqual([0, 7, 8, 15].map(fix), [undefined, undefined, undefined, undefined]);
  assert.equal(gnssTimeOf(message({ pgn: 127250 })), undefined);
});
