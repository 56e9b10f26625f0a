/** Number of colours of lines in `style.css`. */
export const LINE_COLOURS = 6;
/** Dashes of lines, CSS pixels: lines differ without colours, too. */
const DASHES: readonly (readonly number[])[] = [[], [10, 4], [2, 3], [12, 3, 2, 3], [5, 3], [18, 4]];

/** The dash of a line: with its colour it is that of no other of the first 36 lines. */
export function dashOf(line: number): readonly number[] {
  return DASHES[(line + Math.floor(line / LINE_COLOURS)) % DASHES.length] ?? [];
}
