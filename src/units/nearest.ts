/** The word of `known` with the fewest typing errors from `word`; undefined if `known` is empty. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestMistakes = Infinity;
  for (const candidate of known) {
    const count = mistakes(word, candidate);
    if (count < bestMistakes) [best, bestMistakes] = [candidate, count];
  }
  return best;
}

/**
 * ": did you mean X?" with the nearest of `known` after `prefix`; empty if none is near, since a random word misleads.
 */
export function hint(word: string, { known, prefix = "" }: { known: Iterable<string>; prefix?: string }): string {
  const candidates = [...known];
  const [begun] = candidates.filter((each) => word !== "" && each.startsWith(word)).sort((a, b) => a.length - b.length);
  const best = begun ?? nearest(word, candidates.filter((each) => isNear(word, each)));
  return best === undefined ? "" : `: did you mean ${prefix}${best}?`;
}

/** True for errors in at most half of the letters. */
function isNear(word: string, candidate: string): boolean {
  return 2 * mistakes(word, candidate) <= Math.max(word.length, candidate.length);
}

/** Letters to insert, delete, replace or swap with their neighbour (optimal string alignment). */
function mistakes(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = at(last, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      let best = Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
