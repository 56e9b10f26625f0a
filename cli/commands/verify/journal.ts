import { errorText } from "@vessel/gateway/base";
import { epochText, type FoundFile } from "../inspect/file.ts";
import { type Fault, type VerifiedFile, verifyFile } from "./file.ts";
import { checkRun, checkUnnamed, firstDifference, type FoundGap, type NumbersFound } from "./numbers.ts";

/** What the files of one epoch, or all that name none, hold together. */
export interface VerifiedRun {
  /** Hexadecimal: all of it, or the first eight digits where no block tells more; undefined where files name none. */
  epoch: string | undefined;
  firstSeq: number;
  lastSeq: number;
  gaps: FoundGap[];
  /** Numbers that are in several blocks, each with the same frames. */
  repeated: number;
  errors: (Fault & { path: string })[];
  notes: (Fault & { path: string })[];
}

/** What was found. */
export interface VerifiedJournal {
  files: VerifiedFile[];
  runs: VerifiedRun[];
  /** Errors of files and runs; gaps that nothing tells are errors. */
  errors: number;
}

/** How it is read. */
export interface VerifyOptions {
  signal: AbortSignal;
  /** Told of bytes that are done. */
  onBytes: (bytes: number) => void;
}

/** Reads every frame of all files, and looks at their numbers within and across them. Nothing is changed. */
export async function verifyJournal(found: readonly FoundFile[], options: VerifyOptions): Promise<VerifiedJournal> {
  const files: VerifiedFile[] = [];
  for (const file of found) {
    files.push(
      await verifyFile(file, (bytes) => {
        options.signal.throwIfAborted();
        options.onBytes(bytes);
      }),
    );
  }
  const runs: VerifiedRun[] = [];
  for (const [word, ofRun] of Map.groupBy(files, ({ epochWord }) => epochWord)) {
    const blocks = ofRun.flatMap(({ numbered }) => numbered);
    if (blocks.length === 0) continue;
    const found = word === 0 ? checkUnnamed(blocks) : checkRun(blocks);
    const epoch = ofRun.find((file) => file.epoch !== undefined)?.epoch ?? epochText(word);
    runs.push(await decide(found, { epoch, signal: options.signal }));
  }
  const untold = runs.flatMap(({ gaps }) => gaps).filter(({ reason }) => reason === undefined);
  const errors = [...files, ...runs].reduce((sum, each) => sum + each.errors.length, untold.length);
  return { files, runs, errors };
}

async function decide(
  { firstSeq, lastSeq, gaps, overlaps, backwards, restarts }: NumbersFound,
  { epoch, signal }: { epoch: string | undefined; signal: AbortSignal },
): Promise<VerifiedRun> {
  const run: VerifiedRun = { epoch, firstSeq, lastSeq, gaps, repeated: 0, errors: [], notes: [] };
  for (const { one, other } of overlaps) {
    signal.throwIfAborted();
    const { path, offset, firstSeq } = other;
    const what = await firstDifference({ one, other }).then(
      (seq) => seq === undefined ? undefined : `Frame ${seq} is another one in ${one.path}, byte ${one.offset}`,
      (error) => `Cannot compare with ${one.path}: ${errorText(error)}`,
    );
    if (what !== undefined) run.errors.push({ path, offset, what });
    else run.repeated += Math.min(one.lastSeq, other.lastSeq) - firstSeq + 1;
  }
  for (const { path, offset, firstSeq } of backwards) {
    run.errors.push({ path, offset, what: `Numbers go back to ${firstSeq}` });
  }
  for (const { path, firstSeq } of restarts) run.notes.push({ path, what: `Numbers begin anew at ${firstSeq}` });
  return run;
}
