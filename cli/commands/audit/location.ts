import { isInstanceId } from "@vessel/gateway";
import { STATE_FILE } from "@vessel/gateway/cloud";
import { readJournalDirectory } from "@vessel/gateway/journal";
import { errorText } from "@vessel/gateway/base";
import { SettingsError } from "../../program/program.ts";

/** So many boats of a cloud are named where one has to be chosen. */
const MAX_NAMED = 20;

/**
 * Where a boat's journal is.
 *
 * @throws {SettingsError} not there
 */
export async function boatDirectory(directory: string): Promise<string> {
  const { isJournal, isEmpty } = await look(directory);
  // A new card: what the cloud has of the boat is all there is.
  if (isJournal || isEmpty) return directory;
  throw new SettingsError(`Cannot compare "${directory}": it is no journal directory of a boat`);
}

/**
 * Where what a cloud holds of a boat is: the directory itself, or that of the only boat of a data directory.
 *
 * @throws {SettingsError} there is none, or there are several
 */
export async function cloudDirectory(directory: string): Promise<string> {
  const { isJournal, folders } = await look(directory);
  if (isJournal) return directory;
  const ids: string[] = [];
  for (const name of folders.sort()) if ((await look(`${directory}/${name}`)).isJournal) ids.push(name);
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
    `Cannot tell which boat of "${directory}" is meant: give -cloud ${directory}/ID, of ${named}`,
  );
}

/** Whether files of a boat are in a directory, and which directories are. */
async function look(directory: string): Promise<{ isJournal: boolean; isEmpty: boolean; folders: string[] }> {
  const folders: string[] = [];
  let isJournal = false;
  let isEmpty = true;
  try {
    for await (const { name, isFile, isDirectory } of Deno.readDir(directory)) {
      isEmpty = false;
      if (isDirectory && isInstanceId(name)) folders.push(name);
      if (isFile && name === STATE_FILE) isJournal = true;
    }
    // A recording that has just begun has no file yet.
    isJournal ||= await readJournalDirectory(directory).then(() => true, () => false);
    return { isJournal, isEmpty, folders };
  } catch (error) {
    throw new SettingsError(`Cannot read "${directory}": ${errorText(error)}`);
  }
}
