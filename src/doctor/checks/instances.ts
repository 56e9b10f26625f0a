import { parseName } from "../../frame/mod.ts";
import type { BusModel, Check, Context, Sender, Track } from "../model.ts";
import { newest } from "../values.ts";

/** Values of things with a number that may exist once only, of one sender. */
const NUMBERED =
  /^(?:engine\.\d+\.(?:speed|oil_pressure|temperature)|battery\.\d+\.(?:voltage|charge)|tank\..+\.level|gear\.\d+)$/;
/** Values of devices of which displays show one, by device instance. */
const SELECTED: ReadonlySet<string> = new Set([
  "position",
  "heading.magnetic",
  "heading.true",
  "depth",
  "stw",
  "wind.apparent.speed",
]);
/** A value counts while it is not older, milliseconds. */
const FRESH_MS = 8000;
/** Samples of a device that does send it, not just once. */
const MIN_SAMPLES = 4;
/** The bus must have been alive for so long, milliseconds. */
const GRACE_MS = 10_000;

/** Data instances and device instances that exist twice. */
export class InstanceCheck implements Check {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  round(): void {
    const { nowMs, buses } = this.#context;
    const settled = buses.filter((bus) => bus.isSettled(nowMs, GRACE_MS));
    for (const bus of settled) {
      const byKey = new Map<string, Track[]>();
      for (const track of freshTracks(bus, nowMs)) {
        const { key } = track;
        if (NUMBERED.test(key) || SELECTED.has(key)) byKey.set(key, [...byKey.get(key) ?? [], track]);
      }
      const told = new Set<string>();
      for (const [key, tracks] of byKey) if (tracks.length > 1) this.#check(key, tracks, told);
    }
  }

  #check(key: string, tracks: readonly Track[], told: Set<string>): void {
    const [first, second] = [...tracks].sort((a, b) => a.sender.firstMs - b.sender.firstMs);
    if (!first || !second) return;
    const { sender } = second;
    const seqs = [newest(first)?.seq ?? 0, newest(second)?.seq ?? 0];
    if (NUMBERED.test(key)) {
      const thing = key.split(".").slice(0, -1).join(" ");
      const what = /^gear/.test(key) ? key.replace(".", " ") : thing;
      // Voltage and charge of one battery are one finding.
      if (told.has(`${what}/${sender.src}`)) return;
      told.add(`${what}/${sender.src}`);
      const text =
        `${sender.label} and ${first.sender.label} both send data of ${what.replaceAll("_", " ")}: displays show one ` +
        "or the other";
      this.#context.report({
        kind: "duplicate_data_instance",
        bus: sender.bus,
        sender,
        pgn: second.row.pgn,
        detail: what,
        text,
        seqs,
        confidence: 0.8,
      });
    } else if (areTwins(first.sender, sender) && !told.has(`twins/${sender.src}`)) {
      told.add(`twins/${sender.src}`);
      const text = `${sender.label} and ${first.sender.label} are the same model with the same device instance ` +
        `${parseName(sender.name ?? 0n).deviceInstance}`;
      this.#context.report({ kind: "duplicate_device_instance", bus: sender.bus, sender, text, seqs, confidence: 0.6 });
    }
  }
}

function* freshTracks(bus: BusModel, nowMs: number): Iterable<Track> {
  for (const { tracks } of bus.all()) {
    for (const track of tracks.values()) {
      if (track.count >= MIN_SAMPLES && nowMs - (newest(track)?.atMs ?? 0) <= FRESH_MS) yield track;
    }
  }
}

/** Whether two devices cannot be told apart: same model, function and instances. */
function areTwins(a: Sender, b: Sender): boolean {
  if (a.name === undefined || b.name === undefined || !a.product || a.product.modelId !== b.product?.modelId) {
    return false;
  }
  const [x, y] = [parseName(a.name), parseName(b.name)];
  return x.manufacturerCode === y.manufacturerCode && x.deviceFunction === y.deviceFunction &&
    x.deviceInstance === y.deviceInstance && x.systemInstance === y.systemInstance;
}
