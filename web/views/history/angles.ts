/** A value of a line; null or undefined: there is none. */
export type Value = number | null | undefined;

/** Lines of angles that can be drawn. */
export interface AngleLines {
  values: Value[][];
  /** For each line, indexes of values before which the line must be interrupted. */
  breaks: ReadonlySet<number>[];
}

/**
 * Draws angles without false jumps. As long as all lines fit into one turn, they continue beyond 0 or a full turn: a heading
 * around north goes from 350 to 370. Otherwise all values are within one turn, and a line is interrupted where it leaves it.
 *
 * @param turn a full turn
 * @param from start of the turn that values are shown in: 0, or minus half a turn
 */
export function angleLines(
  lists: readonly (readonly Value[])[],
  { turn, from }: { turn: number; from: number },
): AngleLines {
  const unwrapped = lists.map((list) => unwrap(list, turn));
  const extents = unwrapped.map(extentOf);
  const first = extents.find(({ max }) => max !== -Infinity);
  if (!first) return { values: unwrapped, breaks: lists.map(() => new Set()) };
  const middle = inTurn(middleOf(first), { turn, from });
  const shifts = extents.map((each) =>
    Math.round((middle - (each.max === -Infinity ? middle : middleOf(each))) / turn) * turn
  );
  const lowest = Math.min(...extents.map(({ min }, index) => min + (shifts[index] ?? 0)));
  const highest = Math.max(...extents.map(({ max }, index) => max + (shifts[index] ?? 0)));
  if (highest - lowest <= turn) {
    return {
      values: unwrapped.map((list, index) => list.map((value) => shifted(value, shifts[index] ?? 0))),
      breaks: lists.map(() => new Set()),
    };
  }
  const wrapped = lists.map((list) => list.map((value) => value == null ? value : inTurn(value, { turn, from })));
  return { values: wrapped, breaks: wrapped.map((list) => jumpsOf(list, turn)) };
}

/** The same angle from `from` up to a turn later. */
export function inTurn(value: number, { turn, from }: { turn: number; from: number }): number {
  return ((value - from) % turn + turn) % turn + from;
}

function unwrap(list: readonly Value[], turn: number): Value[] {
  let before: number | undefined;
  return list.map((value) => {
    if (value == null) return value;
    if (before !== undefined) value += Math.round((before - value) / turn) * turn;
    return before = value;
  });
}

function shifted(value: Value, by: number): Value {
  return value == null ? value : value + by;
}

function extentOf(list: readonly Value[]): { min: number; max: number } {
  let [min, max] = [Infinity, -Infinity];
  for (const value of list) {
    if (value == null) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { min, max };
}

function middleOf({ min, max }: { min: number; max: number }): number {
  return (min + max) / 2;
}

function jumpsOf(list: readonly Value[], turn: number): Set<number> {
  const jumps = new Set<number>();
  let before: number | undefined;
  for (const [index, value] of list.entries()) {
    if (value == null) continue;
    if (before !== undefined && Math.abs(value - before) > turn / 2) jumps.add(index);
    before = value;
  }
  return jumps;
}
