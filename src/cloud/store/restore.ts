import type { Logger } from "../../base/mod.ts";
import { JournalIndex } from "../../journal/mod.ts";
import type { ObjectStore } from "../../object_store/mod.ts";
import { type InstanceState, loadState, stateFile } from "../state/state_file.ts";
import { isPeerEpoch } from "../state/received.ts";
import { BoatObjects } from "./boat_objects.ts";
import type { FrameStore } from "./frame_store.ts";
import { boatOfEpochKey, epochsPrefix } from "./object_names.ts";
import { inReadTime } from "./read_time.ts";
import { restoreSessions } from "./stored_sessions.ts";

/** The boats that have frames in the store. @throws {StoreError} the store cannot be listed, or does not answer in time */
export function storedBoats(store: ObjectStore): Promise<Set<string>> {
  return inReadTime((signal) => listBoats(store, signal));
}

async function listBoats(store: ObjectStore, signal: AbortSignal): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const page of store.list({ prefix: epochsPrefix(), signal })) {
    for (const { key } of page) {
      const id = boatOfEpochKey(key);
      if (id !== undefined) ids.add(id);
    }
  }
  return ids;
}

/** The state of a boat. */
export interface LoadedState {
  state: InstanceState;
  /** What the store was found to have, if the state is from there. */
  listed?: BoatObjects;
}

/**
 * Reads the state of a boat: from its directory; if that has none because another node had the boat, from the store.
 *
 * @throws {StoreError} the store cannot be listed, or does not answer in time
 */
export async function loadBoatState({ id, directory, frameStore, log }: {
  id: string;
  directory: string;
  frameStore?: FrameStore | undefined;
  log: Logger;
}): Promise<LoadedState> {
  const journal = () => JournalIndex.open(directory, { log });
  const state = await loadState(stateFile(directory), { id, journal, log });
  if (!frameStore || state.epochs.current !== undefined) return { state };
  const objects = new BoatObjects({ id, ...frameStore });
  await inReadTime((signal) => objects.list(signal));
  const epoch = objects.epochs.at(-1);
  if (epoch === undefined) return { state };
  await inReadTime((signal) => restoreSessions(frameStore.store, { id, directory, epoch, signal }));
  return { state: storedState(state, objects), listed: objects };
}

/**
 * The state of a boat, as far as objects say it: the boat declares the rest in its next handshake.
 *
 * @param state what else is known
 */
export function storedState(
  state: InstanceState,
  objects: Pick<BoatObjects, "epochs" | "storedOf">,
): InstanceState {
  const [current, ...previous] = objects.epochs.toReversed();
  if (current === undefined) return state;
  const numbersOf = (epoch: string) => {
    const stored = objects.storedOf(epoch);
    return { headSeq: stored.last ?? 0, received: { durable: [...stored], void: [], lost: [] } };
  };
  const former = previous.filter((epoch) => !isPeerEpoch(epoch)).map((epoch) => ({ epoch, ...numbersOf(epoch) }));
  return { ...state, epochs: { current, previous }, ...numbersOf(current), former };
}
