import type { BlockLocation } from "../file/source.ts";
import type { BlockRange } from "./block_table.ts";
import type { BlockTables } from "./block_tables.ts";
import {
  compareNumbers,
  epochsOf,
  type FileEntry,
  type FileSpan,
  type Located,
  mayHold,
  spansOf,
} from "../file/order.ts";

/** Options of {@linkcode locate}. */
interface LocateOptions {
  tables: BlockTables;
  range: BlockRange;
}

/** Locations of wanted blocks in order, epoch by epoch. @param all runs of files */
export async function* locate(
  all: readonly FileEntry[][],
  { tables, range: { after, ...range } }: LocateOptions,
): AsyncGenerator<Located> {
  const epochs = epochsOf(all);
  const first = epochs.findIndex(({ epochWord }) => epochWord === after?.epochWord);
  for (const { epochWord, runs } of epochs.slice(Math.max(0, first))) {
    const bySeq = epochWord !== 0 || range.fromSeq !== undefined;
    const isPassed = after !== undefined && epochWord !== 0 && epochWord === after.epochWord;
    const own = isPassed ? { ...range, fromSeq: Math.max(range.fromSeq ?? 0, after.seq + 1) } : range;
    yield* locateIn(runs, { tables, range: own, bySeq });
  }
}

/**
 * Locations of an epoch's wanted blocks in order. Reads the table of a file only when its blocks may be next. Of a file that
 * has gone there is one location, which cannot be read.
 */
async function* locateIn(
  runs: readonly FileEntry[][],
  { tables, range, bySeq }: LocateOptions & { bySeq: boolean },
): AsyncGenerator<Located> {
  const lowest = ({ lowSeq, lowUs }: FileSpan) => bySeq ? lowSeq : lowUs;
  const compare = (a: BlockLocation, b: BlockLocation) =>
    bySeq
      ? compareNumbers(a.seq, b.seq) || compareNumbers(a.timeUs, b.timeUs)
      : compareNumbers(a.timeUs, b.timeUs) || compareNumbers(a.seq, b.seq);
  const { skips, skipsFile } = range;
  const isWanted = (span: FileSpan) => mayHold(span, range) && !skipsFile?.(span.file.path);
  const spans = runs.flatMap((run) => [...spansOf(run)].filter(isWanted));
  spans.sort((a, b) => compareNumbers(lowest(a), lowest(b)));
  let ready: Located[] = [];
  let at = 0;
  for (const span of spans) {
    for (let next = ready[at]; next && (bySeq ? next.seq : next.timeUs) < lowest(span); next = ready[++at]) {
      yield next;
    }
    const table = await tables.of(span.file);
    if (span.file.isDeleted) yield { file: span.file, offset: 0, bytes: 0, timeUs: span.lowUs, seq: span.lowSeq };
    const found = Array.from(table.select(range, span.end), (location) => ({ ...location, file: span.file }))
      .filter(({ file, offset }) => !skips?.(file.path, offset));
    ready = [...ready.slice(at), ...found].sort(compare);
    at = 0;
  }
  yield* ready.slice(at);
}
