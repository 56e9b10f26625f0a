import type { Check, Context, Sample, Track } from "../model.ts";
import { angleBetween, distanceM, newest } from "../values.ts";
import { labelOf, textOf } from "./values.ts";

/** Samples are compared if they are not older, milliseconds. */
const FRESH_MS = 4000;
const MIN_SAMPLES = 5;
/** The bus must have been alive for so long, milliseconds. */
const GRACE_MS = 10_000;
/** A value that steps this long around the beginning of a disagreement has caused it, milliseconds. */
const STEP_MS = 4000;
/** Most pairs at the same time. */
const MAX_PAIRS = 256;

/** When two values of a quantity disagree. */
interface Rule {
  readonly key: RegExp;
  /** Difference, in units of the limit: above 1 they disagree. */
  readonly difference: (a: Sample["value"], b: Sample["value"]) => number;
}

const angles = (limitRad: number) => (a: Sample["value"], b: Sample["value"]) =>
  angleBetween(Number(a), Number(b)) / limitRad;
const numbers = (least: number, share: number) => (a: Sample["value"], b: Sample["value"]) =>
  Math.abs(Number(a) - Number(b)) / Math.max(least, share * Math.max(Number(a), Number(b)));

const RULES: readonly Rule[] = [
  { key: /^heading\./, difference: angles(0.3) },
  {
    key: /^position$/,
    difference: (a, b) => typeof a === "object" && typeof b === "object" ? distanceM(a, b) / 200 : 0,
  },
  // Transducers of two hulls or of bow and stern are some metres apart.
  { key: /^depth$/, difference: numbers(4, 0.4) },
  { key: /^wind\.apparent\.speed$/, difference: numbers(4, 0.4) },
  { key: /^wind\.apparent\.angle$/, difference: angles(0.6) },
  { key: /^sog$/, difference: numbers(1.5, 0.3) },
];
/** In less wind its angle says nothing, metres a second. */
const CALM_MPS = 3;

/** Devices that say different things about the same quantity. */
export class DisagreementCheck implements Check {
  readonly #context: Context;
  /** When the pairs of tracks that disagreed in the last round began to. */
  #began: ReadonlyMap<string, number> = new Map();

  constructor(context: Context) {
    this.#context = context;
  }

  round(): void {
    const { nowMs, buses } = this.#context;
    const byKey = new Map<string, Track[]>();
    for (const bus of buses) {
      if (!bus.isSettled(nowMs, GRACE_MS)) continue;
      for (const { tracks } of bus.all()) {
        for (const track of tracks.values()) {
          if (track.count < MIN_SAMPLES || nowMs - (newest(track)?.atMs ?? -Infinity) > FRESH_MS) continue;
          byKey.set(track.key, [...byKey.get(track.key) ?? [], track]);
        }
      }
    }
    const began = new Map<string, number>();
    for (const [key, tracks] of byKey) {
      const rule = tracks.length < 2 ? undefined : RULES.find((each) => each.key.test(key));
      if (rule) this.#compare(tracks.filter((track) => !isCalm(track)), { ...rule, began });
    }
    this.#began = began;
  }

  #compare(tracks: readonly Track[], { difference, began }: Rule & { began: Map<string, number> }): void {
    const differ = (a: Track, b: Track) => {
      const [x, y] = [newest(a), newest(b)];
      return x !== undefined && y !== undefined && difference(x.value, y.value) > 1;
    };
    for (const [index, a] of tracks.entries()) {
      for (const b of tracks.slice(index + 1)) {
        if (!differ(a, b) || began.size >= MAX_PAIRS) continue;
        const pair = `${idOf(a)}|${idOf(b)}`;
        const beganMs = this.#began.get(pair) ?? this.#context.nowMs;
        began.set(pair, beganMs);
        const others = tracks.filter((track) => track !== a && track !== b);
        this.#report([a, b], this.#suspect([a, b], { others, differ, difference, beganMs }));
      }
    }
  }

  /** The wrong one of two: that which a third contradicts, or which stepped when it began; undefined: unknown. */
  #suspect(pair: readonly [Track, Track], { others, differ, difference, beganMs }: {
    others: readonly Track[];
    differ: (a: Track, b: Track) => boolean;
    difference: Rule["difference"];
    beganMs: number;
  }): Track | undefined {
    const [a, b] = pair;
    const [againstA, againstB] = pair.map((track) => others.filter((other) => differ(track, other)).length);
    if (againstA !== againstB) return (againstA ?? 0) > (againstB ?? 0) ? a : b;
    const stepped = pair.map(({ samples }) =>
      samples.some(({ atMs, value }, index) => {
        const before = samples[index - 1];
        return before !== undefined && Math.abs(atMs - beganMs) < STEP_MS && difference(before.value, value) > 0.7;
      })
    );
    if (stepped[0] === stepped[1]) return undefined;
    return stepped[0] ? a : b;
  }

  #report([a, b]: readonly [Track, Track], suspect: Track | undefined): void {
    const [wrong, right] = suspect === b ? [b, a] : [a, b];
    const [x, y] = [newest(wrong), newest(right)];
    if (!x || !y) return;
    const { row, key, sender } = wrong;
    this.#context.report({
      kind: "sources_disagree",
      bus: sender.bus,
      ...(suspect && { sender }),
      pgn: row.pgn,
      detail: suspect ? key : `${key}/${[idOf(a), idOf(b)].sort().join("/")}`,
      text: `${labelOf(wrong)}: ${sender.label} says ${textOf(x.value, row.unit)}, ${right.sender.label} says ` +
        textOf(y.value, row.unit) + (suspect ? "; the first is probably wrong" : ""),
      confidence: suspect ? 0.8 : 0.6,
      seqs: [x.seq, y.seq],
    });
  }
}

function idOf({ sender: { bus, src }, key }: Track): string {
  return `${bus.index}.${src}.${key}`;
}

function isCalm({ key, sender }: Track): boolean {
  if (key !== "wind.apparent.angle") return false;
  const speed = sender.tracks.get("wind.apparent.speed");
  const value = speed && newest(speed)?.value;
  return typeof value !== "number" || value < CALM_MPS;
}
