/** Recordings that a command reads: files, directories and boats of object stores. */
import { findRecorded, Logger, type RecordedInput } from "@vessel/gateway/recordings";
import { Progress } from "../../program/progress.ts";
import type { Output } from "../../program/terminal.ts";
import { isStoreUrl } from "../../settings/store_endpoint.ts";
import type { Clock } from "@vessel/gateway/base";

/** Which recordings are read. */
export interface RecordedChoice {
  /** Files, directories and URLs of object stores. */
  paths: readonly string[];
  /** Which boat of an object store, default the only one; URL of an S3-compatible store, empty: AWS. */
  store?: { boat: string | undefined; endpoint: string };
  /** Gets warnings. */
  note: (text: string) => void;
  /** Ends the listing of a store. */
  signal: AbortSignal;
}

/**
 * Finds the recordings.
 *
 * @param opened gets the connections to stores
 * @throws {OfflineError} one cannot be read
 * @throws {SettingsError} a URL is wrong, or the boat must be chosen
 */
export async function findInputs(choice: RecordedChoice, opened: AsyncDisposableStack): Promise<RecordedInput[]> {
  const inputs: RecordedInput[] = [];
  for (const path of choice.paths) {
    inputs.push(isStoreUrl(path) ? await storedInput(path, { choice, opened }) : await findRecorded(path));
  }
  return inputs;
}

/** A boat in an object store. */
async function storedInput(
  url: string,
  { choice: { store, note, signal }, opened }: { choice: RecordedChoice; opened: AsyncDisposableStack },
): Promise<RecordedInput> {
  // Loaded when used: it is a large package.
  const { openStoredBoat } = await import("../store/stored_boat.ts");
  const { boat: id, endpoint = "" } = store ?? {};
  const boat = await openStoredBoat(url, { endpoint, id, flag: "-boat", log: warningsTo(note), signal });
  opened.use(boat);
  return { kind: "blocks", path: url, bytes: undefined, source: boat.journal };
}

/** A logger of warnings. */
export function warningsTo(note: (text: string) => void): Logger {
  return new Logger({ level: "warn", format: "text", write: (line) => note(line.trimEnd()) });
}

/** Reports lines of a recording that cannot be read. */
export function summaryNote(note: (text: string) => void): (path: string, summary: { bad: number }) => void {
  return (path, { bad }) => {
    if (bad > 0) note(`"${path}": ${bad} damaged ${bad === 1 ? "line" : "lines"} skipped`);
  };
}

/** A progress bar, in bytes if all inputs are journal files. */
export interface InputProgress {
  bar: Progress;
  isOfBytes: boolean;
}

/** The progress of reading; undefined without an output. */
export function progressOf(
  inputs: readonly RecordedInput[],
  { progressOutput: output, clock }: { progressOutput: Output | undefined; clock: Clock },
): InputProgress | undefined {
  if (output === undefined) return undefined;
  const isOfBytes = inputs.every(({ kind }) => kind === "journal");
  const total = inputs.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  const bar = new Progress({ output, clock, ...(isOfBytes ? { total, unit: "bytes" } : { unit: "frames" }) });
  return { bar, isOfBytes };
}
