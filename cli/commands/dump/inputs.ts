import { findRecorded, Logger, type RecordedInput, type RecordingSummary } from "@vessel/gateway/recordings";
import { isStoreUrl } from "../../settings/store_endpoint.ts";

/** An object store of a cloud. */
export interface StoreChoice {
  /** Boat in it; default the only one. */
  boat: string | undefined;
  /** URL of an S3-compatible store; empty: AWS. */
  endpoint: string;
}

/**
 * Opens files, directories and URLs of object stores.
 *
 * @param options.opened gets the connections to object stores
 * @throws {OfflineError} one cannot be read
 */
export async function recordedInputs(
  paths: readonly string[],
  { store, note, signal, opened }: {
    store?: StoreChoice | undefined;
    note: (text: string) => void;
    signal: AbortSignal;
    opened: AsyncDisposableStack;
  },
): Promise<RecordedInput[]> {
  const inputs: RecordedInput[] = [];
  for (const path of paths) {
    if (!isStoreUrl(path)) {
      inputs.push(await findRecorded(path));
      continue;
    }
    // Loaded when used: it is a large package.
    const { openStoredBoat } = await import("../store/stored_boat.ts");
    const { boat: id, endpoint = "" } = store ?? {};
    const boat = await openStoredBoat(path, { endpoint, id, flag: "-boat", log: warningsTo(note), signal });
    opened.use(boat);
    inputs.push({ kind: "blocks", path, bytes: undefined, source: boat.journal });
  }
  return inputs;
}

/** A logger of warnings about damage. */
export function warningsTo(note: (text: string) => void): Logger {
  return new Logger({ level: "warn", format: "text", write: (line) => note(line.trimEnd()) });
}

/** Reports lines of a recording that cannot be read. */
export function summaryNote(note: (text: string) => void): (path: string, summary: RecordingSummary) => void {
  return (path, { bad }) => {
    if (bad > 0) note(`"${path}": ${bad} damaged ${bad === 1 ? "line" : "lines"} skipped`);
  };
}
