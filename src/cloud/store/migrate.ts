import { basename } from "node:path";
import { type Logger, pathExists, syncDirectory, systemClock } from "../../base/mod.ts";
import { JOURNAL_DIRECTORY_MODE, JOURNAL_FILE_MODE, JournalIndex, nextFileName } from "../../journal/mod.ts";
import { isStoreError, type ObjectStore } from "../../object_store/mod.ts";
import { Ranges } from "../../replication/mod.ts";
import { BACKFILL_PREFIX } from "../files/backfill_files.ts";
import { Instance } from "../instance/instance.ts";
import { INSTANCE_DEFAULTS } from "../instance/settings.ts";
import { encodeState, loadState, stateFile } from "../state/state_file.ts";
import { BoatObjects } from "./boat_objects.ts";
import { epochOfFile, hashOf } from "./frame_objects.ts";
import { type ListedObject, listObjects, listPruned } from "./object_list.ts";
import { storedState } from "./restore.ts";
import { restoreSessions, StoredSessions } from "./stored_sessions.ts";

/** A boat to be copied. */
export interface MigrateOptions {
  /** Instance id. */
  id: string;
  /** Data directory of a cloud that does not run. The caller must have locked it. */
  dataDirectory: string;
  /** No cloud may use it meanwhile. */
  store: ObjectStore;
  /** Called with the size of each file, or object, that was copied, bytes. */
  onBytes: (bytes: number) => void;
  /** Receives errors of files. */
  log: Logger;
  /** Ends copying; what was copied stays. */
  signal?: AbortSignal | undefined;
}

/** A copied boat. */
export interface MigratedBoat {
  /** Journal files, or objects. */
  files: number;
  /** What could not be copied whole, for people. */
  faults: string[];
}

/** The target has other data of the boat. */
export class MigrationError extends Error {
  /** `MigrationError`. */
  override readonly name = "MigrationError";
}

/**
 * Copies a boat from a data directory into a store, with its epochs and sessions. Deletes nothing. What the store has
 * already is not sent again.
 *
 * @throws {MigrationError} the store has newer epochs of the boat
 * @throws {StoreError} the store does not answer
 */
export async function storeBoat(options: MigrateOptions): Promise<MigratedBoat> {
  const { id, dataDirectory, store, onBytes, log, signal } = options;
  const directory = `${dataDirectory}/${id}`;
  const boat = await Instance.load({ id, directory, settings: () => INSTANCE_DEFAULTS, clock: systemClock, log });
  try {
    // Frames that only the write-ahead log has go into files.
    await boat.withFiles(() => {});
  } finally {
    await boat.stop();
  }
  const index = await JournalIndex.open(directory, { log });
  const objects = new BoatObjects({ id, store });
  await objects.list(signal);
  const epochs = await epochsOf(index, options);
  requireFollowing(objects.epochs, { epochs, id });
  for (const epoch of epochs) await objects.beginEpoch(epoch, signal);
  const faults = [...index.damage];
  for (const { path, epochWord } of index.files) {
    const epoch = Uint8Array.fromHex(await epochOfFile(path, { epochWord, epochs }));
    const { isWhole } = await objects.putFile(path, { epoch, signal });
    if (!isWhole) faults.push(`${basename(path)}: damaged blocks were left out`);
    onBytes((await Deno.stat(path)).size);
  }
  await objects.saveTimes(signal);
  await new StoredSessions({ id, directory, store }).put(signal);
  return { files: index.files.length, faults };
}

/** The epochs of a boat in the order in which they began: those of its state, and before them any others of its files. */
async function epochsOf(index: JournalIndex, { id, dataDirectory, log }: MigrateOptions): Promise<string[]> {
  const journal = () => Promise.resolve(index);
  const { epochs: { current, previous } } = await loadState(stateFile(`${dataDirectory}/${id}`), { id, journal, log });
  const known = [...previous.toReversed(), ...current === undefined ? [] : [current]];
  const others = new Set<string>();
  for (const { path, epochWord } of index.files) others.add(await epochOfFile(path, { epochWord, epochs: known }));
  return [...others.difference(new Set(known)), ...known];
}

/** The order of epochs is that in which they are added: none can be added before those that the store has. */
function requireFollowing(
  stored: readonly string[],
  { epochs, id }: { epochs: readonly string[]; id: string },
): void {
  const newest = stored.at(-1);
  if (newest === undefined || epochs.every((epoch) => stored.includes(epoch))) return;
  const position = epochs.indexOf(newest);
  if (position >= 0 && epochs.slice(0, position).every((epoch) => stored.includes(epoch))) return;
  throw new MigrationError(
    `Cannot copy "${id}": the store has a newer epoch of it, ${newest}, which the data directory does not know`,
  );
}

/**
 * Copies a boat from a store into a data directory, with its epochs and sessions. Deletes nothing. The boat's directory
 * appears complete or not at all. Damaged objects are left out: the cloud asks the boat for their frames.
 *
 * @throws {MigrationError} the data directory has the boat
 * @throws {StoreError} the store does not answer
 */
export async function restoreBoat(options: MigrateOptions): Promise<MigratedBoat> {
  const { id, dataDirectory, store, log, signal } = options;
  const target = `${dataDirectory}/${id}`;
  if (await pathExists(target)) throw new MigrationError(`Cannot copy "${id}": "${target}" exists`);
  const staging = `${dataDirectory}/.migrate-${id}`;
  // A copy that was interrupted may have left files.
  if (await pathExists(staging)) await Deno.remove(staging, { recursive: true });
  await Deno.mkdir(staging, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
  const known = new BoatObjects({ id, store });
  await known.list(signal);
  const { epochs } = known;
  const { objects } = await listObjects(store, { id, signal });
  const order = (one: ListedObject, other: ListedObject) =>
    epochs.indexOf(one.epoch) - epochs.indexOf(other.epoch) || one.first - other.first;
  const held = new Map(epochs.map((epoch) => [epoch, new Ranges()]));
  for (const { epoch, first, last } of await listPruned(store, { id, signal })) held.get(epoch)?.add(first, last + 1);
  const faults: string[] = [];
  let newest: string | undefined;
  for (const object of objects.toSorted(order)) {
    const { epoch, first, last, time } = object;
    const name = nextFileName(BACKFILL_PREFIX, { timeUs: time?.timeUs ?? 0, after: newest, isTaken: () => false });
    const fault = await copyObject(object, { ...options, path: `${staging}/${name}` });
    if (fault !== undefined) faults.push(fault);
    else {
      held.get(epoch)?.add(first, last + 1);
      newest = name;
    }
  }
  await restoreSessions(store, { id, directory: staging, epoch: epochs.at(-1) ?? "", signal });
  const journal = () => JournalIndex.open(undefined, { log });
  const empty = await loadState(stateFile(staging), { id, journal, log });
  const state = storedState(empty, { epochs, storedOf: (epoch) => held.get(epoch) ?? new Ranges() });
  const accounted = { live: 0, backfill: newest };
  await stateFile(staging).write(JSON.stringify(encodeState(id, { ...state, accounted })) + "\n");
  await syncDirectory(staging);
  await Deno.rename(staging, target);
  await syncDirectory(dataDirectory);
  return { files: objects.length - faults.length, faults };
}

/** Writes an object as a file, synced, and reads it back. Returns what is wrong with the object. */
async function copyObject(
  { key, hash }: ListedObject,
  { path, store, onBytes, signal }: MigrateOptions & { path: string },
): Promise<string | undefined> {
  const bytes = await store.get(key, { signal }).catch((error: unknown) => {
    if (!isStoreError(error, "damaged")) throw error;
  });
  onBytes(bytes?.length ?? 0);
  if (!bytes || await hashOf(bytes) !== hash) return `${key}: damaged, left out`;
  using file = await Deno.open(path, { write: true, createNew: true, mode: JOURNAL_FILE_MODE });
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  await file.syncData();
  if (await hashOf(await Deno.readFile(path)) !== hash) throw new Error(`"${path}" has other bytes than were written`);
  return undefined;
}
