import type { ListedObject } from "../object_list.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Time after the end of an hour or a day until its objects are joined: the last ones are stored at an interval. */
export const SETTLE_MS: number = HOUR_MS / 6;

/** What is to be done with the objects of one epoch. */
export interface CompactionPlan {
  /** Runs of consecutive numbers, each to become one object. */
  merge: ListedObject[][];
  /** Objects whose numbers another one has, too, if its content is the same. */
  covered: { object: ListedObject; by: ListedObject }[];
}

/**
 * Plans the compaction of an epoch: the objects of an hour that is over become one, those of a day that is over, too. An
 * object is of the hour in which its first frame was received. Pure.
 *
 * @param options.objectBytes largest object, bytes
 * @param options.nowMs milliseconds since 1970
 * @param options.dayDelayMs time that the objects of a day that is over are not joined, milliseconds
 */
export function planCompaction(
  objects: readonly ListedObject[],
  { objectBytes, nowMs, dayDelayMs }: { objectBytes: number; nowMs: number; dayDelayMs: number },
): CompactionPlan {
  const { covered, rest } = coveredAmong(objects);
  const plan: CompactionPlan = { merge: [], covered };
  const times = { nowMs, dayDelayMs };
  let run: ListedObject[] = [];
  let bytes = 0;
  const end = () => {
    if (run.length > 1) plan.merge.push(run);
    run = [];
    bytes = 0;
  };
  for (const object of rest) {
    const before = run.at(-1);
    const period = periodOf(object, times);
    const isNext = before && object.first <= before.last + 1 && periodOf(before, times) === period;
    // All blocks of a file have one size.
    const isAlike = before?.time?.blockBytes === object.time?.blockBytes;
    if (!isNext || !isAlike || bytes + object.size > objectBytes) end();
    if (period === undefined || !object.time) continue;
    run.push(object);
    bytes += object.size;
  }
  end();
  return plan;
}

/** The objects of an epoch whose numbers another one has, too, and the rest in the order of their numbers. Pure. */
export function coveredAmong(
  objects: readonly ListedObject[],
): { covered: CompactionPlan["covered"]; rest: ListedObject[] } {
  const sorted = objects.toSorted((a, b) => a.first - b.first || b.last - a.last || (a.key < b.key ? -1 : 1));
  const covered: CompactionPlan["covered"] = [];
  const rest: ListedObject[] = [];
  let widest: ListedObject | undefined;
  for (const object of sorted) {
    if (widest && widest.last >= object.last) covered.push({ object, by: widest });
    else rest.push(widest = object);
  }
  return { covered, rest };
}

/** The day of an object; its hour while the day is not over; undefined while the hour is not over. */
function periodOf(
  { time, storedMs }: ListedObject,
  { nowMs, dayDelayMs }: { nowMs: number; dayDelayMs: number },
): string | undefined {
  // The clock of a boat may be wrong.
  const atMs = Math.min((time?.timeUs ?? Infinity) / 1000, storedMs);
  for (const [name, lengthMs, delayMs] of [["day", DAY_MS, dayDelayMs], ["hour", HOUR_MS, 0]] as const) {
    const number = Math.floor(atMs / lengthMs);
    if ((number + 1) * lengthMs + SETTLE_MS + delayMs <= nowMs) return `${name} ${number}`;
  }
  return undefined;
}
