import { isInstanceId } from "@vessel/gateway";
import { STATE_FILE } from "@vessel/gateway/cloud";
import { readJournalDirectory } from "@vessel/gateway/journal";
import { errorText } from "@vessel/gateway/base";
import { SettingsError } from "../../program/program.ts";

/** Most boats named in the error message when the user must choose one. */
const MAX_NAMED = 20;

/**
 * The journal directory of a boat.
 *
 * @throws {SettingsError} it is not a journal directory
 */
export async function boatDirectory(directory: string): Promise<string> {
  const { isJournal, isEmpty } = await inspectDirectory(directory);
  // A new memory card: only the cloud holds frames of the boat.
  if (isJournal || isEmpty) return directory;
  throw new SettingsError(`Cannot compare "${directory}": it is not the journal directory of a boat`);
}

/**
 * The cloud's directory of a boat: the given directory, or that of the only boat in a data directory.
 *
 * @throws {SettingsError} the data directory holds no boat or several
 */
export async function cloudDirectory(directory: string): Promise<string> {
  const { isJournal, folders } = await inspectDirectory(directory);
  if (isJournal) return directory;
  const ids: string[] = [];
  for (const name of folders.sort()) if ((await inspectDirectory(`${directory}/${name}`)).isJournal) ids.push(name);
  const [only, ...others] = ids;
  if (only === undefined) {
    throw new SettingsError(
      `Cannot compare with "${directory}": it is neither a boat's directory nor a cloud's with boats`,
    );
  }
  if (others.length === 0) return `${directory}/${only}`;
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} others` : "";
  const named = ids.slice(0, MAX_NAMED).join(", ") + more;
  throw new SettingsError(
    `Cannot choose a boat of "${directory}": give -cloud ${directory}/ID with one of ${named}`,
  );
}

/** Whether a directory holds files of a boat, and the directories in it. */
async function inspectDirectory(
  directory: string,
): Promise<{ isJournal: boolean; isEmpty: boolean; folders: string[] }> {
  const folders: string[] = [];
  let isJournal = false;
  let isEmpty = true;
  try {
    for await (const { name, isFile, isDirectory } of Deno.readDir(directory)) {
      isEmpty = false;
      if (isDirectory && isInstanceId(name)) folders.push(name);
      if (isFile && name === STATE_FILE) isJournal = true;
    }
    // A recording that has just begun has only a write-ahead log.
    isJournal ||= await readJournalDirectory(directory).then(() => true, () => false);
    return { isJournal, isEmpty, folders };
  } catch (error) {
    throw new SettingsError(`Cannot read "${directory}": ${errorText(error)}`);
  }
}
