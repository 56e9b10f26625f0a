// What an object store has of a fleet, read from its objects without code of the product: the key of an object is compared
// with its frames, and each frame with what its boat has fed.
import { createHash } from "node:crypto";
import { buildCanId, formatTimeUs, parseCanId } from "../../src/frame/mod.ts";
import type { ObjectStore } from "../../src/object_store/mod.ts";
import { expectedFrame, type FleetMember } from "../../src/simulation/fleet/mod.ts";
import { readLpj } from "./minimal_lpj_reader.ts";

/** Seed of the fleets of these tests. */
export const FLEET_SEED = 7;

/** A frame, however it was found. */
export interface SeenFrame {
  seq: number;
  /** As `/history` writes it. */
  ts: string;
  prio: number;
  pgn: number;
  src: number;
  dst: number;
  /** Hex. */
  data: string;
}

/** A comparison of frames that were fed with those that were found. */
export interface Comparison {
  fed: number;
  missing: number;
  different: number;
  /** Found that were never fed. */
  extra: number;
  /** Found more than once with the same content. */
  duplicates: number;
  objects: number;
}

/** Boats whose objects are read at the same time. */
const READ_AT_ONCE = 8;

type Boat = Pick<FleetMember, "id" | "epoch" | "head">;

const KEY = /^instances\/([^/]+)\/([0-9a-f]{32})\/(\d{16})-(\d{16})-([0-9a-f]{16})\.lpj$/;

interface Key {
  id: string;
  epoch: string;
  first: number;
  last: number;
  hash: string;
}

/** Frames of a boat as it has fed them; all up to and including `last`, default its newest. */
export function fedFrames({ id, epoch, head }: Boat, { last = head }: { last?: number } = {}): SeenFrame[] {
  return Array.from({ length: last }, (_, index) => fedFrame({ id, epoch }, index + 1));
}

function fedFrame({ id, epoch }: Omit<Boat, "head">, number: number): SeenFrame {
  const { seq, timeUs, canId, data } = expectedFrame(number, { seed: FLEET_SEED, boat: id, epoch });
  return { seq, ts: formatTimeUs(timeUs), ...parseCanId(canId), data: data.toHex() };
}

/** Reads an answer of `/history`. */
export async function framesOfHistory(frames: AsyncIterable<SeenFrame>): Promise<SeenFrame[]> {
  const found: SeenFrame[] = [];
  for await (const { seq, ts, prio, pgn, src, dst, data } of frames) found.push({ seq, ts, prio, pgn, src, dst, data });
  return found;
}

/** Keys of all objects of frames. @throws {Error} one cannot be read */
async function keysOf(store: ObjectStore, prefix = "instances/"): Promise<{ key: string; object: Key }[]> {
  const keys: { key: string; object: Key }[] = [];
  for await (const page of store.list({ prefix })) {
    for (const { key } of page) {
      const [, id = "", epoch = "", first, last, hash = ""] = KEY.exec(key) ?? [];
      if (id === "") throw new Error(`Not the key of frames: ${key}`);
      keys.push({ key, object: { id, epoch, first: Number(first), last: Number(last), hash } });
    }
  }
  return keys;
}

/**
 * How many numbers that boats were told are stored no object has, by the objects' keys; {@linkcode compareStore} tells
 * whether a key is true.
 */
export async function toldButMissing(
  store: ObjectStore,
  told: readonly { id: string; epoch: Uint8Array; through: number }[],
): Promise<number> {
  const byEpoch = Map.groupBy(await keysOf(store), ({ object: { id, epoch } }) => `${id}/${epoch}`);
  let missing = 0;
  for (const { id, epoch, through } of told) {
    let next = 1;
    const objects = (byEpoch.get(`${id}/${epoch.toHex()}`) ?? []).map(({ object }) => object);
    for (const { first, last } of objects.sort((a, b) => a.first - b.first)) {
      if (first > through) break;
      missing += Math.max(0, first - next);
      next = Math.max(next, last + 1);
    }
    missing += Math.max(0, through + 1 - next);
  }
  return missing;
}

/** Reads all objects of some boats, and compares every frame with what was fed. */
export async function compareStore(store: ObjectStore, boats: readonly Boat[]): Promise<Comparison> {
  const sum = { fed: 0, missing: 0, different: 0, extra: 0, duplicates: 0, objects: 0 };
  const waiting = [...boats];
  const work = async () => {
    for (let boat = waiting.pop(); boat; boat = waiting.pop()) await compareBoat(store, boat, sum);
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, work));
  return sum;
}

async function compareBoat(store: ObjectStore, boat: Boat, sum: Comparison): Promise<void> {
  const seen = new Uint8Array(boat.head + 1);
  for (const { key, object } of await keysOf(store, `instances/${boat.id}/`)) {
    sum.objects++;
    for (const frame of readObject(await store.get(key), object)) {
      const { seq } = frame;
      if (object.epoch !== boat.epoch.toHex() || seq > boat.head) sum.extra++;
      else if (JSON.stringify(frame) !== JSON.stringify(fedFrame(boat, seq))) sum.different++;
      else if (seen[seq]) sum.duplicates++;
      else seen[seq] = 1;
    }
  }
  sum.fed += boat.head;
  sum.missing += seen.subarray(1).reduce((missing, isSeen) => missing + 1 - isSeen, 0);
}

/**
 * Frames of an object. Of frames that two nodes have stored in different blocks, a joined object has both.
 *
 * @throws {Error} it does not have exactly those that its key says, or its bytes have another hash
 */
function readObject(bytes: Uint8Array, { first, last, hash }: Key): SeenFrame[] {
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (!digest.startsWith(hash)) throw new Error(`An object's key says ${hash}, its bytes ${digest}`);
  const frames = readLpj(bytes).blocks.flatMap(({ frames }) => frames).map(({ seq, timeUs, data, ...id }) => {
    return { seq: Number(seq), ts: formatTimeUs(Number(timeUs)), ...parseCanId(buildCanId(id)), data };
  });
  const seqs = new Set(frames.map(({ seq }) => seq));
  const isAsSaid = seqs.size === last - first + 1 && seqs.values().every((seq) => seq >= first && seq <= last);
  if (!isAsSaid) throw new Error(`An object's key says ${first} to ${last}, it has ${seqs.size} numbers`);
  return frames;
}
