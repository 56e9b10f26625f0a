import { errorText, type Logger } from "@vessel/gateway/base";
import { chooseStoredBoat, openStore, parseStoreUrl, StoredJournal } from "@vessel/gateway/cloud";
import { SettingsError } from "../../program/program.ts";

/** A boat in an object store, open for reading. */
export interface StoredBoat extends Disposable {
  /** Instance id. */
  id: string;
  journal: StoredJournal;
}

/** @throws {SettingsError} it is not the URL of an object store */
export function requireStoreUrl(url: string): void {
  try {
    parseStoreUrl(url);
  } catch (error) {
    throw new SettingsError(errorText(error));
  }
}

/**
 * Opens the frames of a boat in a store.
 *
 * @param options.id the boat; default: the only one
 * @param options.flag the flag that names a boat, for messages
 * @throws {SettingsError} the URL is wrong, or the boat must be chosen
 * @throws {StoreError} the store does not answer
 */
export async function openStoredBoat(
  url: string,
  { endpoint, id, flag, log, signal }: {
    endpoint: string;
    id: string | undefined;
    flag: string;
    log: Logger;
    signal?: AbortSignal;
  },
): Promise<StoredBoat> {
  requireStoreUrl(url);
  const store = await openStore({ url, isReadOnly: true, endpoint: endpoint || undefined });
  try {
    const chosen = await chooseStoredBoat(store, id).catch((error: unknown) => {
      throw error instanceof RangeError
        ? new SettingsError(`Cannot choose a boat with ${flag}: ${error.message}`)
        : error;
    });
    const journal = await StoredJournal.open(store, { id: chosen, log, signal });
    return { id: chosen, journal, [Symbol.dispose]: () => store[Symbol.dispose]() };
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
}
