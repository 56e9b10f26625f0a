import { silentLogger } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";
import type { JournalIndex } from "../../src/journal/mod.ts";
import { SeriesRollup, type SeriesRollupOptions } from "../../src/series/mod.ts";
import { BUSES, TESTED_FIELDS } from "./series.ts";

/** The PGNs of the tested fields. */
export const PGNS: readonly number[] = [
  ...new Set(Object.keys(TESTED_FIELDS).map((field) => Number(field.slice(0, 6)))),
];
/** Numbers of points whose buckets sidecars answer, mostly. */
export const COARSE = [1, 2, 7, 60, 500];
/** What a request may read: the blocks at the ends of its range, and those that are not on disk yet. */
export const FEW_FRAMES = 2500;
/** All values of a field: fails with {@linkcode FEW_FRAMES} if that takes reading most frames. */
export const WHOLE = `/series?field=127250.heading&from=2026-01-01T00:00:00Z&to=2026-01-04T00:00:00Z&points=100`;

/** Sidecars of the tested fields, built without rests. */
export function openRollup(index: JournalIndex, options: Partial<SeriesRollupOptions> = {}): SeriesRollup {
  return new SeriesRollup({
    index,
    pgns: PGNS,
    buses: BUSES,
    decoder: new Decoder(),
    log: silentLogger,
    restMs: 0,
    ...options,
  });
}

function pathsIn(folder: string, extension: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(extension)).sort()
    .map((name) => `${folder}/${name}`);
}

/** Paths of the sidecars in a folder, by name. */
export const sidecars = (folder: string): string[] => pathsIn(folder, ".lpr");

/** Paths of the journal files in a folder, by name. */
export const journalFiles = (folder: string): string[] => pathsIn(folder, ".lpj");
