import { labelOfQuantity, type QuantityValue } from "../../quantities/mod.ts";
import { MINUTE_MS } from "../kinds.ts";
import type { Check, Context, Sender, Track } from "../model.ts";
import { Motion } from "../motion.ts";
import { angleBetween, distanceM, newest } from "../values.ts";

/** A value counts while it is not older, milliseconds. */
const FRESH_MS = 8000;
/** The bus must have been alive for so long, milliseconds. */
const GRACE_MS = 5000;

const KNOTS_PER_MPS = 3600 / 1852;
/** A turn that every compass shows. */
const MIN_TURN_RAD = 0.06;

/** A value that cannot stay the same while the boat moves. */
interface StuckRule {
  readonly key: RegExp;
  /** The same number for this time, milliseconds. */
  readonly afterMs: number;
  /** What its neighbours do meanwhile; undefined: it may stay so. */
  readonly while: (
    motion: Motion,
    stuck: { track: Track; value: QuantityValue; sinceMs: number },
  ) => string | undefined;
  readonly confidence: number;
  readonly advice?: string;
}

const degrees = (rad: number) => `${(rad * 180 / Math.PI).toFixed(0)}°`;
const metres = (m: number) => m < 1852 ? `${m.toFixed(0)} m` : `${(m / 1852).toFixed(1)} nautical miles`;

const STUCK: readonly StuckRule[] = [
  {
    key: /^position$/,
    afterMs: 15_000,
    confidence: 0.9,
    while: (motion, { sinceMs }) => {
      const moved = motion.movedM(sinceMs);
      return moved >= 30 ? `the boat has sailed ${metres(moved)}` : undefined;
    },
    advice: "Switch the receiver off and on, and check its antenna: the position on the displays is old",
  },
  {
    key: /^heading\./,
    afterMs: 20_000,
    confidence: 0.8,
    while: (motion, { sinceMs, track }) => {
      const turned = motion.turnedRad(sinceMs, track);
      return turned >= MIN_TURN_RAD ? `the boat has turned by ${degrees(turned)}` : undefined;
    },
    advice: "Do not use the autopilot; check the compass and its cable",
  },
  {
    key: /^depth$/,
    afterMs: 40_000,
    confidence: 0.7,
    while: (motion, { sinceMs }) => {
      const moved = motion.movedM(sinceMs);
      return moved >= 120 ? `the boat has sailed ${metres(moved)}` : undefined;
    },
    advice: "Do not rely on the depth: the transducer may be dirty, out of range or out of the water",
  },
  {
    key: /^wind\.apparent\.angle$/,
    afterMs: 30_000,
    confidence: 0.8,
    while: (motion, { track, sinceMs }) => {
      const speed = track.sender.tracks.get("wind.apparent.speed");
      const last = speed && newest(speed);
      // In a calm, the vane stays where it is.
      if (!speed || typeof last?.value !== "number" || last.value < 2) return undefined;
      const isAllStuck = speed.changedMs <= sinceMs;
      const moved = motion.movedM(sinceMs);
      if (!isAllStuck) return `the wind speed changes`;
      return moved >= 50 ? `the boat has sailed ${metres(moved)}` : undefined;
    },
    advice: "Look whether the masthead unit turns freely, and check its cable",
  },
  {
    key: /^stw$/,
    afterMs: 30_000,
    confidence: 0.8,
    while: (motion, { value, sinceMs }) => {
      const speed = motion.slowestMps(sinceMs);
      return value === 0 && speed >= 2
        ? `the boat makes ${(speed * KNOTS_PER_MPS).toFixed(1)} kn over ground`
        : undefined;
    },
    advice: "Clean the paddle wheel of the speed sensor: it is blocked",
  },
];

/** Ranges outside of which a value is impossible. */
const POSSIBLE: readonly { key: RegExp; from: number; to: number; unit: string }[] = [
  { key: /^depth$/, from: 0, to: 12_000, unit: "m" },
  { key: /^(?:sog|stw)$/, from: 0, to: 60, unit: "m/s" },
  { key: /^wind\..*\.speed$/, from: 0, to: 100, unit: "m/s" },
  { key: /^(?:heading|cog)\.|^wind\..*\.angle$/, from: -Math.PI - 0.01, to: 2 * Math.PI + 0.01, unit: "rad" },
  { key: /^rudder\./, from: -Math.PI / 2, to: Math.PI / 2, unit: "rad" },
  { key: /^temperature\.sea\./, from: 268, to: 315, unit: "K" },
  { key: /^temperature\.(?:outside|inside|main_cabin)/, from: 200, to: 350, unit: "K" },
  { key: /^pressure\.atmospheric\./, from: 85_000, to: 110_000, unit: "Pa" },
  { key: /^humidity\./, from: 0, to: 101, unit: "%" },
  { key: /^engine\..*\.temperature$/, from: 220, to: 450, unit: "K" },
  { key: /^engine\..*\.oil_pressure$/, from: 0, to: 3e6, unit: "Pa" },
  { key: /^battery\..*\.charge$/, from: 0, to: 101, unit: "%" },
  { key: /^battery\..*\.voltage$/, from: 0, to: 1000, unit: "V" },
  { key: /^tank\..*\.level$/, from: -5, to: 110, unit: "%" },
];

/** Steps between two samples that a boat cannot make. */
const JUMPS: readonly {
  key: RegExp;
  times: number;
  isJump: (a: QuantityValue, b: QuantityValue, s: number) => string | undefined;
}[] = [
  {
    key: /^position$/,
    times: 2,
    isJump: (a, b, s) => {
      if (typeof a !== "object" || typeof b !== "object") return undefined;
      const distance = distanceM(a, b);
      return distance > 300 && distance / s > 60 ? metres(distance) : undefined;
    },
  },
  {
    key: /^heading\./,
    times: 3,
    isJump: (a, b, s) => {
      const angle = angleBetween(Number(a), Number(b));
      return s < 3 && angle > 1 ? degrees(angle) : undefined;
    },
  },
  {
    key: /^depth$/,
    times: 6,
    isJump: (a, b) => {
      const [low, high] = [Math.min(Number(a), Number(b)), Math.max(Number(a), Number(b))];
      return high - low > 5 && high > 3 * low ? metres(high - low) : undefined;
    },
  },
];

/** Values that are stuck, impossible, or jump. */
export class ValueCheck implements Check {
  readonly #context: Context;
  readonly #jumps = new WeakMap<Track, { atMs: number; seq: number; text: string }[]>();

  constructor(context: Context) {
    this.#context = context;
  }

  value(track: Track): void {
    this.#checkPossible(track);
    this.#checkJump(track);
  }

  round(): void {
    const { nowMs, buses } = this.#context;
    let motion: Motion | undefined;
    for (const bus of buses) {
      if (!bus.isSettled(nowMs, GRACE_MS)) continue;
      for (const { tracks } of bus.all()) {
        for (const rule of STUCK) {
          for (const track of tracks.values()) {
            if (!rule.key.test(track.key) || nowMs - track.changedMs < rule.afterMs) continue;
            motion ??= new Motion(this.#context);
            this.#checkStuck(track, { rule, motion });
          }
        }
      }
    }
  }

  #checkStuck(track: Track, { rule, motion }: { rule: StuckRule; motion: Motion }): void {
    const { sender, key, row, changedMs: sinceMs } = track;
    const { nowMs } = this.#context;
    const last = newest(track);
    if (!last || nowMs - last.atMs > FRESH_MS) return;
    const neighbours = rule.while(motion, { track, value: last.value, sinceMs });
    if (neighbours === undefined) return;
    this.#context.report({
      kind: "stuck_value",
      bus: sender.bus,
      sender,
      pgn: row.pgn,
      detail: key,
      text: `${labelOf(track)} of ${sender.label} has been ${textOf(last.value, row.unit)} for ` +
        `${Math.round((nowMs - sinceMs) / 1000)} s, while ${neighbours}`,
      confidence: rule.confidence,
      ...(rule.advice !== undefined && { advice: rule.advice }),
      seqs: [track.samples[0]?.seq ?? 0, last.seq],
    });
  }

  #checkPossible(track: Track): void {
    const { sender, key, row } = track;
    const last = newest(track);
    if (!last || !this.#isSettled(sender)) return;
    const rule = POSSIBLE.find((each) => each.key.test(key));
    const { value } = last;
    const isNowhere = typeof value === "object" &&
      ((value.latitude === 0 && value.longitude === 0) || Math.abs(value.latitude) > 90 ||
        Math.abs(value.longitude) > 180);
    const isOut = rule !== undefined && typeof value === "number" && (value < rule.from || value > rule.to);
    if (!isNowhere && !isOut) return;
    this.#context.report({
      kind: "impossible_value",
      bus: sender.bus,
      sender,
      pgn: row.pgn,
      detail: key,
      text: `${labelOf(track)} of ${sender.label} is ${textOf(value, row.unit)}, which is impossible`,
      seqs: [last.seq],
    });
  }

  #checkJump(track: Track): void {
    const { sender, key, row, samples } = track;
    const rule = JUMPS.find((each) => each.key.test(key));
    const [before, last] = samples.slice(-2);
    if (!rule || !before || !last || !this.#isSettled(sender)) return;
    const text = rule.isJump(before.value, last.value, Math.max(0.05, (last.atMs - before.atMs) / 1000));
    const jumps = this.#jumps.get(track) ?? [];
    if (text !== undefined) this.#jumps.set(track, jumps);
    if (text !== undefined) jumps.push({ atMs: last.atMs, seq: last.seq, text });
    while ((jumps[0]?.atMs ?? Infinity) < last.atMs - MINUTE_MS) jumps.shift();
    if (text === undefined || jumps.length < rule.times) return;
    this.#context.report({
      kind: "value_jumps",
      bus: sender.bus,
      sender,
      pgn: row.pgn,
      detail: key,
      text: `${
        labelOf(track)
      } of ${sender.label} has jumped ${jumps.length} times within a minute, the last time by ${text}`,
      confidence: 0.8,
      seqs: jumps.slice(-3).map(({ seq }) => seq),
    });
  }

  #isSettled({ bus }: Sender): boolean {
    return bus.isSettled(this.#context.nowMs, GRACE_MS);
  }
}

/** Name of a value for people. */
export function labelOf({ row, key }: Track): string {
  return labelOfQuantity(row, key);
}

/** A value with its unit, for people. */
export function textOf(value: QuantityValue, unit = ""): string {
  if (typeof value === "object") return `${value.latitude.toFixed(4)}, ${value.longitude.toFixed(4)}`;
  if (typeof value === "string") return value;
  if (unit === "rad") return `${(value * 180 / Math.PI).toFixed(1)}°`;
  if (unit === "m/s") return `${(value * KNOTS_PER_MPS).toFixed(1)} kn`;
  if (unit === "Pa") return `${(value / 100).toFixed(0)} hPa`;
  if (unit === "K") return `${(value - 273.15).toFixed(1)} °C`;
  return `${Number(value.toFixed(2))} ${unit}`.trim();
}
