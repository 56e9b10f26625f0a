/** One figure of the benchmark: a JSON line with its unit and, where there is one, the bar it has to clear. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** For example `>= 3000000`. */
  bar?: string;
}

/** Prints a figure. */
export function report(figure: Figure): void {
  console.log(JSON.stringify({ ...figure, value: Number(figure.value.toPrecision(4)) }));
}

/** Best rate of `rounds` runs of `run`, which does `count` things, in things a second. */
export function rate(count: number, run: () => void, rounds = 7): number {
  let best = 0;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    run();
    best = Math.max(best, count / (performance.now() - start) * 1000);
  }
  return best;
}
