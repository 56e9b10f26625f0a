import assert from "node:assert/strict";
import { type DoctorState, parseDoctorState } from "../../src/doctor/mod.ts";
import { formatName, parseCanId } from "../../src/frame/mod.ts";
import { IS_FULL } from "../support/needs.ts";
import { nameBytes } from "./fault.ts";
import { framesOf, healthyFrames, Lab, type LabFrame, simulate, START_US } from "./lab.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Hours of the healthy boat: a day in full size. */
const HOURS = IS_FULL ? 24 : 0.5;

/** Asks all devices for a PGN, as discovery does. */
function ask(boat: ReturnType<typeof simulate>, send: (frame: LabFrame) => void, pgn: number): void {
  const data = Uint8Array.of(pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16);
  for (const frame of framesOf({ atMs: boat.nowMs, pgn: 59904, src: 254, data })) {
    send(frame);
    boat.receive({ ...frame, timeUs: 0, monoMs: 0, offset: 0, length: 3 });
  }
}

Deno.test(`doctor: ${HOURS} hours of the healthy boat have no findings, asked for claims and products every 10 minutes`, () => {
  const lab = new Lab();
  const send = (frame: LabFrame) => lab.push(frame);
  const boat = simulate(send);
  boat.advance(2000);
  for (let ms = 0; ms < HOURS * HOUR_MS; ms += 10 * MINUTE_MS) {
    ask(boat, send, 60928);
    boat.advance(ms + 5000);
    ask(boat, send, 126996);
    boat.advance(ms + 10 * MINUTE_MS);
  }
  assert.deepEqual(lab.found, []);
  assert.equal(lab.doctor.untracked, 0);
  const text = JSON.stringify(lab.doctor.state());
  assert.ok(text.length < 32_768, `${text.length} bytes of state`);
  assert.deepEqual(JSON.parse(JSON.stringify(parseDoctorState(text))), JSON.parse(text));
});

let known: readonly LabFrame[] | undefined;
/** Eight minutes of the healthy boat. */
const frames = () => known ??= healthyFrames(8 * MINUTE_MS);
const sourceOf = ({ id }: LabFrame) => parseCanId(id).src;

/** Gives the frames until one at `untilMs`, later ones delayed. */
function run(lab: Lab, { fromMs = 0, untilMs = Infinity, laterMs = 0, isHeard = () => true }: {
  fromMs?: number;
  untilMs?: number;
  laterMs?: number;
  isHeard?: (frame: LabFrame) => boolean;
}): void {
  for (const frame of frames()) {
    if (frame.atMs < fromMs || frame.atMs >= untilMs || !isHeard(frame)) continue;
    lab.push({ ...frame, atMs: frame.atMs + laterMs });
  }
}

Deno.test("doctor: nothing is missing after the process was suspended", () => {
  const lab = new Lab();
  run(lab, { untilMs: 6 * MINUTE_MS });
  lab.sleep(HOUR_MS);
  run(lab, { fromMs: 6 * MINUTE_MS, laterMs: HOUR_MS - 6 * MINUTE_MS });
  assert.deepEqual(lab.found, []);
});

Deno.test("doctor: nothing is missing while the bus is off, nor after it was switched on again", () => {
  const lab = new Lab();
  run(lab, { untilMs: 6 * MINUTE_MS });
  lab.advance(30 * MINUTE_MS);
  run(lab, { fromMs: 6 * MINUTE_MS, laterMs: 24 * MINUTE_MS });
  assert.deepEqual(lab.found, []);
});

Deno.test("doctor: nothing is missing when devices are switched off together, one after the other", () => {
  const lab = new Lab();
  const sources = [...new Set(frames().map(sourceOf))].sort((a, b) => a - b);
  const offMs = (src: number) => 6 * MINUTE_MS + 1000 * sources.indexOf(src);
  // One stays: the bus is not silent.
  run(lab, { isHeard: (frame) => sourceOf(frame) === sources[0] || frame.atMs < offMs(sourceOf(frame)) });
  assert.deepEqual(lab.found, []);
});

Deno.test("doctor: frames that this machine has lost are no device's fault", () => {
  const lab = new Lab();
  run(lab, { untilMs: 6 * MINUTE_MS });
  let count = 0;
  for (const frame of frames()) {
    if (frame.atMs < 6 * MINUTE_MS) continue;
    const errors = { no_acknowledge: 0, bus_error: 0, overflow: 0, other: 0 };
    lab.reading = { controller: "error-active", lost: Math.floor(frame.atMs / 500), errors };
    if (++count % 3 !== 0) lab.push(frame);
  }
  assert.deepEqual(lab.found, []);
});

Deno.test("doctor: a device of last week is missing after five minutes, unless it was there only sometimes or is an engine", () => {
  const first = new Lab();
  run(first, {});
  const state = first.doctor.state();
  const ghost = (uniqueNumber: bigint, { deviceClass = 60n, share = 1 } = {}): DoctorState["devices"][number] => ({
    ...{ bus: "can0", name: formatName(0xc000000000000000n | (deviceClass << 49n) | uniqueNumber), src: 88 },
    ...{ model: "Sonar (7)", software: "1", serial: "2", seenUs: START_US - 3 * 86_400e6 },
    ...{ presentS: 7200 * share, watchedS: 7200, habits: {} },
  });
  const devices = [ghost(1n), ghost(2n, { share: 0.5 }), ghost(3n, { deviceClass: 50n })];
  const lab = new Lab({ ...state, devices: [...state.devices, ...devices] });
  run(lab, { untilMs: 5 * MINUTE_MS - 2000 });
  assert.deepEqual(lab.found, []);
  run(lab, { fromMs: 5 * MINUTE_MS - 2000, untilMs: 5 * MINUTE_MS + 10_000 });
  assert.deepEqual(lab.found.map(({ kind, name, text }) => [kind, name, text]), [[
    "missing_device",
    devices[0]?.name,
    "The Sonar (address 88), which is always there, was last seen on 2026-05-29",
  ]]);
});

Deno.test("doctor: a device that looks for a free address, and one that takes an address left behind, are no findings", () => {
  const [restless, other] = [0xc078c20000000001n, 0xc078c20000000002n];
  const heading = Uint8Array.of(0xff, 0, 0x10, 0xff, 0x7f, 0xff, 0x7f, 0xff);
  const claim = (atMs: number, src: number, name: bigint) => framesOf({ atMs, pgn: 60928, src, data: nameBytes(name) });
  const says = (atMs: number, src: number) => framesOf({ atMs, pgn: 127245, src, data: heading });
  const more = [
    // Three addresses in a row are taken.
    ...[100, 101, 102, 103].flatMap((src, index) => claim(MINUTE_MS + 300 * index, src, restless)),
    ...claim(3 * MINUTE_MS, 103, restless),
    ...Array.from({ length: 100 }, (_, index) => says(MINUTE_MS + 2000 + 1000 * index, 103)).flat(),
    // It moves once more, and another device takes its place.
    ...claim(3 * MINUTE_MS, 110, restless),
    ...claim(3 * MINUTE_MS + 3000, 103, other),
    ...Array.from({ length: 60 }, (_, i) => [...says(184_000 + 1000 * i, 110), ...says(184_300 + 1000 * i, 103)])
      .flat(),
  ];
  const lab = new Lab();
  const all = [...frames().filter(({ atMs }) => atMs < 5 * MINUTE_MS), ...more].sort((a, b) => a.atMs - b.atMs);
  for (const frame of all) lab.push(frame);
  assert.deepEqual(lab.found, []);
});

Deno.test("doctor: a finding ends when its cause is gone, and says when it was last seen", () => {
  const lab = new Lab();
  const faultMs = 6 * MINUTE_MS;
  let frozen: Uint8Array | undefined;
  for (const frame of frames()) {
    const isHeading = parseCanId(frame.id).pgn === 127250 && frame.atMs >= faultMs && frame.atMs < faultMs + MINUTE_MS;
    lab.push(isHeading ? { ...frame, data: frozen ??= frame.data } : frame);
    if (frame.atMs === faultMs + MINUTE_MS) {
      assert.deepEqual(lab.doctor.findings().map(({ kind }) => kind), ["stuck_value"]);
    }
  }
  assert.deepEqual(lab.found.map(({ kind }) => kind), ["stuck_value"]);
  const [ended] = lab.ended;
  assert.ok(ended && Date.parse(ended.last_seen) > Date.parse(ended.since));
  const lastMs = Date.parse(ended.last_seen) - START_US / 1000;
  assert.ok(lastMs <= faultMs + MINUTE_MS + 1000, `last seen ${lastMs} ms after the start`);
  assert.deepEqual(lab.doctor.findings(), []);
});

Deno.test("doctor: a flood of senders and PGNs needs bounded memory", () => {
  const lab = new Lab();
  for (let i = 0; i < 20_000; i++) {
    lab.push({ atMs: i, id: 0x18f00000 | (i % 240) << 8 | (i * 7) % 250, data: new Uint8Array(8) });
  }
  assert.ok(lab.doctor.untracked > 0);
  assert.ok(lab.doctor.findings().length <= 256);
});
