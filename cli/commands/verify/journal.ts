import { errorText } from "@vessel/gateway/base";
import { epochText, type FoundFile } from "../inspect/file.ts";
import { type Fault, type VerifiedFile, verifyFile } from "./file.ts";
import { checkRun, checkUnnamed, firstDifference, type FoundGap, type NumbersFound } from "./numbers.ts";

/** Result for the files of one epoch, or for all files without an epoch. */
export interface VerifiedRun {
  /** In hexadecimal, or its first eight digits if no block names it; undefined for files without an epoch. */
  epoch: string | undefined;
  firstSeq: number;
  lastSeq: number;
  gaps: FoundGap[];
  /** Numbers with the same frame in several blocks. */
  repeated: number;
  errors: (Fault & { path: string })[];
  notes: (Fault & { path: string })[];
}

/** Result of a verification. */
export interface VerifiedJournal {
  files: VerifiedFile[];
  runs: VerifiedRun[];
  /** Errors of files and epochs, gaps without a reason included. */
  errors: number;
}

/** Called with the number of bytes done; an error that it throws ends the verification. */
type OnBytes = (bytes: number) => void;

/** Reads every frame of all files, and checks the numbers within and across them. Changes nothing. */
export async function verifyJournal(found: readonly FoundFile[], onBytes: OnBytes): Promise<VerifiedJournal> {
  const files: VerifiedFile[] = [];
  for (const file of found) files.push(await verifyFile(file, onBytes));
  const runs: VerifiedRun[] = [];
  for (const [word, ofRun] of Map.groupBy(files, ({ epochWord }) => epochWord)) {
    const blocks = ofRun.flatMap(({ numbered }) => numbered);
    if (blocks.length === 0) continue;
    const found = word === 0 ? checkUnnamed(blocks) : checkRun(blocks);
    const epoch = ofRun.find((file) => file.epoch !== undefined)?.epoch ?? epochText(word);
    runs.push(await runReport(found, { epoch, onBytes }));
  }
  const unexplained = runs.flatMap(({ gaps }) => gaps).filter(({ reason }) => reason === undefined);
  const errors = [...files, ...runs].reduce((sum, each) => sum + each.errors.length, unexplained.length);
  return { files, runs, errors };
}

async function runReport(
  { firstSeq, lastSeq, gaps, overlaps, backwards, restarts }: NumbersFound,
  { epoch, onBytes }: { epoch: string | undefined; onBytes: OnBytes },
): Promise<VerifiedRun> {
  const run: VerifiedRun = { epoch, firstSeq, lastSeq, gaps, repeated: 0, errors: [], notes: [] };
  for (const { one, other } of overlaps) {
    onBytes(0);
    const { path, offset, firstSeq } = other;
    const what = await firstDifference({ one, other }).then(
      (seq) => seq === undefined ? undefined : `Frame ${seq} differs in ${one.path}, byte ${one.offset}`,
      (error) => `Cannot compare with ${one.path}: ${errorText(error)}`,
    );
    if (what !== undefined) run.errors.push({ path, offset, what });
    else run.repeated += Math.min(one.lastSeq, other.lastSeq) - firstSeq + 1;
  }
  for (const { path, offset, firstSeq } of backwards) {
    run.errors.push({ path, offset, what: `Numbers go back to ${firstSeq}` });
  }
  for (const { path, firstSeq } of restarts) run.notes.push({ path, what: `Numbers restart at ${firstSeq}` });
  return run;
}
