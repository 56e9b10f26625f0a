import assert from "node:assert/strict";
import { assembleRecording } from "../../src/can/mod.ts";
import { MAX_PGN, type Message, nameFromBytes, sourceOfId } from "../../src/frame/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { SELF, SIGNALK_PGNS, type SignalKDelta, SignalKMapper } from "../../src/signalk/mod.ts";
import { readAnalyzed } from "../support/analyzer.ts";
import { environment, needs } from "../support/needs.ts";
import { readAll, sampleBytes, SAMPLES } from "../support/recordings.ts";
import { ORACLE_NEEDS, oraclePgns, SignalKOracle } from "../support/signalk_oracle.ts";

const ORACLE = needs(ORACLE_NEEDS);
/** Directory with whole recordings, of which tests/data has the beginnings. */
const WHOLE_RECORDINGS = environment("VBG_TEST_RECORDINGS");
const ADDRESS_CLAIM = 60928;
/** Relative difference that is none. */
const TOLERANCE = 1e-6;
/** Rounding of fewer decimals would hide differences. */
const MIN_DECIMALS = 3;

/** Our deltas of messages, one after the other. */
class Ours {
  readonly #mapper = new SignalKMapper();
  readonly #names = new Map<number, bigint>();

  delta({ id, pgn, timeUs, data, offset, length }: Message): SignalKDelta | undefined {
    const [src, payload] = [sourceOfId(id), data.subarray(offset, offset + length)];
    if (pgn === ADDRESS_CLAIM && length === 8) this.#names.set(src, nameFromBytes(payload));
    const decoded = decode(pgn, payload);
    return decoded && this.#mapper.map({ pgn, decoded, src, name: this.#names.get(src), bus: "can0", timeUs });
  }
}

/** What is sent as JSON: NaN becomes null, and a part that is null says as much as one that is not there. */
function asSent(value: unknown): unknown {
  const sent: unknown = value === undefined ? null : JSON.parse(JSON.stringify(value));
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) return sent;
  const parts = Object.entries(sent).filter(([, part]) => part !== null);
  return parts.length === 0 ? null : Object.fromEntries(parts);
}

/** canboatjs rounds to the decimals of the resolution: equal as far as its digits go. */
function isPrinted(theirs: number, ours: number): boolean {
  const decimals = /\.(\d+)$/.exec(theirs.toFixed(9).replace(/0+$/, ""))?.[1]?.length ?? 0;
  return decimals >= MIN_DECIMALS && Math.abs(theirs - ours) <= 0.501 * 10 ** -decimals;
}

function isEqual(theirs: unknown, ours: unknown): boolean {
  if (typeof theirs === "number" && typeof ours === "number") {
    const difference = Math.abs(theirs - ours);
    return difference <= TOLERANCE * Math.max(Math.abs(theirs), Math.abs(ours)) || isPrinted(theirs, ours);
  }
  if (typeof theirs === "string" && typeof ours === "string" && /^\d{4}-\d\d-\d\dT/.test(theirs)) {
    return Math.abs(Date.parse(theirs) - Date.parse(ours)) <= 1;
  }
  if (typeof theirs !== "object" || theirs === null || typeof ours !== "object" || ours === null) {
    return theirs === ours;
  }
  const [known, parts] = [Object.entries(theirs), new Map(Object.entries(ours))];
  return known.length === parts.size && known.every(([key, value]) => isEqual(value, parts.get(key)));
}

/** The schema has angles to the wind from -π to π; theirs are from 0 to 2π. */
function isSameAngle(path: string, [theirs, ours]: [unknown, unknown]): boolean {
  if (path !== "environment.wind.angleTrueWater" || typeof theirs !== "number" || typeof ours !== "number") {
    return false;
  }
  return Math.abs(theirs - 2 * Math.PI - ours) <= TOLERANCE;
}

/** A value of theirs that we do not have. */
interface Difference {
  pgn: number;
  path: string;
  context: string | undefined;
  theirs: unknown;
  ours: unknown[];
}

/** Why values differ: the first row that fits. */
const REASONS: readonly [reason: string, fits: (difference: Difference) => boolean][] = [
  [
    "canboatjs rounds to the decimals of the resolution: the rounded value is converted, or ends with zeros",
    ({ theirs, ours: [ours] }) =>
      typeof theirs === "number" && typeof ours === "number" && Math.abs(theirs - ours) <= 4e-4 * Math.abs(theirs),
  ],
  [
    "a raw -1 and -2 are no value in our decoding, as existing clients have it: dilution, offset, power factor",
    ({ theirs, ours }) => ours.length === 0 && typeof theirs === "number" && theirs < 0 && theirs >= -0.01,
  ],
  [
    "the depth below a keel follows from the offset that is not available",
    ({ path }) => path === "environment.depth.belowKeel",
  ],
  ["without a valid MMSI: there is no vessel to say it of", ({ context = "" }) => context.endsWith(".unknown")],
  [
    "Maretron: the power factor is divided by 32768 after it was scaled, and the apparent power multiplied by it",
    ({ pgn, path }) => pgn > 65000 && pgn < 65031 && /powerFactor$|apparentPower$/.test(path),
  ],
  ["the path is undefined there", ({ pgn, path }) => pgn === 65285 && path === undefined],
  ["the time of a notification is the one of its update", ({ pgn }) => pgn === 65288],
  ["a normal state needs no method", ({ pgn, path }) => pgn === 127493 && path.startsWith("notifications.")],
  ["lines 2 and 3 of AC are phase A there", ({ pgn }) => pgn === 127503 || pgn === 127504],
  ["a value that is not available is NaN there", ({ theirs, ours }) => ours.length === 0 && theirs === null],
  [
    "a raw -1 is no value in our decoding, as existing clients have it: a pitch or roll",
    ({ path, theirs }) => path === "navigation.attitude" && JSON.stringify(theirs).includes("-0.0001"),
  ],
  [
    "an arrival in 1970 is none",
    ({ path, theirs }) => path.endsWith(".eta") && String(theirs).startsWith("1970-01-01"),
  ],
  ["an empty name, or 0, is none", ({ pgn, theirs, ours }) => pgn === 129285 && !theirs && ours.length === 0],
  ["the last satellite of the payload is cut off", ({ path }) => path === "navigation.gnss.satellitesInView"],
];

/** Reasons that only whole recordings need. */
const UNSEEN_HERE = [
  "a raw -1 is no value in our decoding, as existing clients have it: a pitch or roll",
  "an arrival in 1970 is none",
];

interface Comparison {
  total: number;
  equal: number;
  byReason: Map<string, number>;
  unexplained: string[];
}

async function messagesOf(bytes: Uint8Array): Promise<Message[]> {
  const { items } = await readAll([bytes]);
  async function* stream() {
    for (const item of items) yield await Promise.resolve(item);
  }
  return await Array.fromAsync(assembleRecording(stream()));
}

function compare(messages: readonly Message[], into: Comparison): void {
  const [oracle, mapper] = [new SignalKOracle(), new Ours()];
  for (const message of messages) {
    const delta = oracle.delta(message);
    const mine = mapper.delta(message);
    const context = delta?.context ?? SELF;
    for (const { path, value } of delta?.updates.flatMap(({ values }) => values) ?? []) {
      const theirs = asSent(value);
      const ours = mine?.context === context
        ? mine.values.filter((each) => each.path === path).map(({ value }) => asSent(value))
        : [];
      into.total++;
      if (ours.some((each) => isEqual(theirs, each) || isSameAngle(path, [theirs, each]))) into.equal++;
      else note({ pgn: message.pgn, path, context, theirs, ours }, into);
    }
  }
}

function note(difference: Difference, { byReason, unexplained }: Comparison): void {
  const reason = REASONS.find(([, fits]) => fits(difference))?.[0];
  if (reason === undefined) unexplained.push(JSON.stringify(difference));
  else byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
}

const newComparison = (): Comparison => ({ total: 0, equal: 0, byReason: new Map(), unexplained: [] });

Deno.test("values of recordings are those of signalk-server, or differ for a reason", ORACLE, async () => {
  const result = newComparison();
  for (const { file } of SAMPLES) compare(await messagesOf(sampleBytes(file)), result);
  const payloads = (await readAnalyzed()).map(({ pgn, hex }, index): Message => {
    const data = Uint8Array.fromHex(hex);
    const id = 0x0c000001 | pgn << 8;
    return { id, pgn, bus: 0, timeUs: index * 1e6, monoMs: 0, data, offset: 0, length: data.length };
  });
  compare(payloads, result);
  assert.deepEqual(result.unexplained, []);
  assert.deepEqual(REASONS.map(([reason]) => reason).filter((reason) => !result.byReason.has(reason)), UNSEEN_HERE);
  assert.ok(result.equal > 4500, `${result.equal} of ${result.total}`);
});

Deno.test("every PGN that signalk-server maps is mapped", ORACLE, () => {
  // Higher numbers are canboat's own, for messages of an Actisense gateway itself.
  const pgns = oraclePgns().filter((pgn) => pgn <= MAX_PGN);
  assert.ok(pgns.length > 60, `${pgns.length}`);
  assert.deepEqual(pgns.filter((pgn) => !SIGNALK_PGNS.has(pgn)), []);
});

const WHOLE = needs({
  ...ORACLE_NEEDS,
  extras: { "VBG_TEST_RECORDINGS, a directory with whole recordings": WHOLE_RECORDINGS !== undefined },
});

Deno.test("of the values of whole recordings, 99.5 % are those of signalk-server", WHOLE, async () => {
  const result = newComparison();
  for (const { name } of Deno.readDirSync(WHOLE_RECORDINGS ?? "")) {
    compare(await messagesOf(Deno.readFileSync(`${WHOLE_RECORDINGS}/${name}`)), result);
  }
  assert.deepEqual(result.unexplained, []);
  assert.ok(result.total > 35_000 && result.equal >= 0.995 * result.total, `${result.equal} of ${result.total}`);
});
