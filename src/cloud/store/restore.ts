import { errorText, type Logger } from "../../base/mod.ts";
import { JournalIndex } from "../../journal/mod.ts";
import { isStoreError, type ObjectStore } from "../../object_store/mod.ts";
import { type InstanceState, loadState, stateFile } from "../state/state_file.ts";
import type { FormerState } from "../state/former_epochs.ts";
import { isPeerEpoch } from "../state/received.ts";
import { BoatObjects } from "./boat_objects.ts";
import type { FrameStore } from "./frame_store.ts";
import { boatOfEpochKey, epochsPrefix } from "./object_names.ts";
import { inReadTime, LIST_TIMEOUT_MS } from "./read_time.ts";
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
  /** What the store was found to have, if the state is from there; `away`: it did not answer. */
  listed?: BoatObjects | "away";
}

/**
 * Reads the state of a boat: from its directory; if that has none because another node had the boat, from the store. If
 * that does not answer, the state of a boat that makes its handshake says so.
 *
 * @throws {StoreError} the store cannot be listed, or does not answer in time
 */
export async function loadBoatState({ id, directory, frameStore, isComing = false, log }: {
  id: string;
  directory: string;
  frameStore?: FrameStore | undefined;
  /** True: the boat makes its handshake; default false. */
  isComing?: boolean;
  log: Logger;
}): Promise<LoadedState> {
  const journal = () => JournalIndex.open(directory, { log });
  const state = await loadState(stateFile(directory), { id, journal, log });
  if (!frameStore || state.epochs.current !== undefined) return { state };
  const objects = new BoatObjects({ id, ...frameStore });
  try {
    const restored = async (signal: AbortSignal) => {
      await objects.list(signal);
      const epoch = objects.epochs.at(-1);
      if (epoch !== undefined) await restoreSessions(frameStore.store, { id, directory, epoch, signal });
    };
    await inReadTime(restored, { timeoutMs: LIST_TIMEOUT_MS });
    return objects.epochs.length === 0 ? { state } : { state: storedState(state, objects), listed: objects };
  } catch (error) {
    if (!isComing || !isStoreError(error, "away")) throw error;
    log.error("boat loaded without what the object store has of it", { id, error: errorText(error) });
    return { state: { ...state, isUnlisted: true }, listed: "away" };
  }
}

/**
 * The state of a boat, as far as objects say it: the boat declares the rest in its next handshake.
 *
 * @param state what else is known
 */
export function storedState(state: InstanceState, objects: StoredEpochs): InstanceState {
  const [current, ...previous] = epochStates(objects).reverse();
  if (current === undefined) return state;
  const { epoch, ...numbers } = current;
  const epochs = { current: epoch, previous: previous.map((each) => each.epoch) };
  return { ...state, epochs, ...numbers, former: previous.filter((each) => !isPeerEpoch(each.epoch)) };
}

/** The epochs of a boat, in the order in which they began, with the numbers that the store has of each. */
export function epochStates(objects: StoredEpochs): FormerState[] {
  return objects.epochs.map((epoch) => {
    const stored = objects.storedOf(epoch);
    return { epoch, headSeq: stored.last ?? 0, received: { durable: [...stored], void: [], lost: [] } };
  });
}

type StoredEpochs = Pick<BoatObjects, "epochs" | "storedOf">;
