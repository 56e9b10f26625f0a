import { MAX_SENTENCE_CHARS, sentence } from "./line.ts";
import { MACHINERY_SENTENCES } from "./machinery_sentences.ts";
import { POSITION_SENTENCES } from "./position_sentences.ts";
import { ROUTE_SENTENCES } from "./route_sentences.ts";
import { SAILING_SENTENCES } from "./sailing_sentences.ts";
import type { SentenceRow } from "./sentence.ts";
import type { SentenceValues } from "./values.ts";

/** All sentences, in the order in which they are sent. */
export const SENTENCES: readonly SentenceRow[] = [
  ...POSITION_SENTENCES,
  ...SAILING_SENTENCES,
  ...ROUTE_SENTENCES,
  ...MACHINERY_SENTENCES,
];

/** PGNs that sentences are made of and that are no quantities, with their usual intervals in milliseconds. */
export const SENTENCE_PGNS: ReadonlyMap<number, number> = new Map([
  ...[126992, 129029, 129033, 129283, 129284, 129291, 129539, 129540].map((pgn) => [pgn, 1000] as const),
  [127237, 250],
  // Sent when it changes, and on request; commonly at least each half minute.
  [129285, 30_000],
]);

/** Lines of a sentence. One that absurd values make too long is left out. @param options.talker default: that of the sentence */
export function linesOf(
  row: SentenceRow,
  { values, talker = row.talker }: { values: SentenceValues; talker?: string | undefined },
): string[] {
  return row.lines(values).map((fields) => sentence([talker + row.id, ...fields])).filter(({ length }) =>
    length <= MAX_SENTENCE_CHARS
  );
}
