import { AtomicFile, type DurableFile, errorText, type Logger, parseTimestamp, readJsonFile } from "../../base/mod.ts";
import { type JournalIndex, MAX_BUSES } from "../../journal/mod.ts";
import { EPOCH_BYTES, type LostRange, MAX_TEXT_BYTES, type Range, Ranges } from "../../replication/mod.ts";
import { type FormerState, MAX_KEPT_FORMER } from "./former_epochs.ts";
import { Received, type ReceivedRecord } from "./received.ts";
import { type EpochHistory, MAX_PREVIOUS_EPOCHS } from "./received_epochs.ts";
import { type Accounted, rebuildState } from "./state_file_rebuild.ts";

/** Name of the file in a boat's directory. */
export const STATE_FILE = "state.json";
/** Largest file that is read: with as many ranges as are kept, and the longest reasons, it has two thirds of it. */
export const MAX_STATE_BYTES: number = 16 * 1024 * 1024;

const VERSION = 1;
const EPOCH: RegExp = new RegExp(`^[0-9a-f]{${2 * EPOCH_BYTES}}$`);

/** What the cloud remembers of one boat. */
export interface InstanceState {
  /** The runs of numbers it has had; the rest speaks of the current one. */
  epochs: EpochHistory;
  /** The last number that the boat gave out, so it says. */
  headSeq: number;
  /** Size of the boat's journal, so it says. */
  journalBytes: number;
  /** When it was last heard of, milliseconds since 1970; undefined: not known. */
  lastSeenMs: number | undefined;
  /** Names of its buses by index; none: it has told none. */
  buses: readonly string[];
  /** Up to where `received` goes along with the boat's files; left out: nobody knows. */
  accounted?: Accounted;
  /** Of its numbers: what is here, and what is not to be had. */
  received: ReceivedRecord;
  /** Numbers of frames that were on disk, are gone from there, and have not come again; default none. */
  vanished?: readonly Range[];
  /** Its files were open when this was written: they may have more. Left out: nobody knows. */
  isOpen?: boolean;
  /** The same of epochs before the current one, newest first; left out: nothing is known. */
  former?: readonly FormerState[];
}

/** How a state is found. */
export interface LoadStateOptions {
  /** The boat. */
  id: string;
  /** Its journal files, asked for only when the file of the state is of no use. */
  journal: () => Promise<JournalIndex>;
  /** Told when that is so. */
  log: Logger;
}

/** The file of a boat's state, in the boat's directory. Written whole and synced; who writes it uses a `JsonFile`. */
export function stateFile(directory: string): DurableFile {
  return new AtomicFile(directory, { name: STATE_FILE, maxBytes: MAX_STATE_BYTES });
}

/**
 * What is known of a boat from before. Where the file is missing or makes no sense, what the journal files hold is looked
 * up in them; what only the boat can say, it says at its next handshake.
 */
export async function loadState(file: DurableFile, { id, journal, log }: LoadStateOptions): Promise<InstanceState> {
  const parse = (text: string) => parseState(text, id);
  const kept = await readJsonFile(file, { what: `notes on what is here of "${id}"`, parse, log });
  if (kept) return kept;
  const found = await rebuildState(await journal());
  const { last, count: frames } = new Received(found.received);
  if (frames > 0) log.info("what is here of a boat was looked up in its journal files", { id, frames });
  return { headSeq: last, journalBytes: 0, lastSeenMs: undefined, ...found };
}

/**
 * A state as it is written down. `cursor` and `holes` are those of what is on disk: that is where a restart begins.
 *
 * @param id the boat
 */
export function keptState(
  id: string,
  state: InstanceState,
): unknown {
  const { epochs, headSeq, journalBytes, lastSeenMs, buses, accounted, received } = state;
  const { vanished = [], isOpen = false, former = [] } = state;
  const safe = new Received(received);
  return {
    version: VERSION,
    id,
    epoch: epochs.current ?? null,
    previous_epochs: epochs.previous,
    cursor: safe.cursor,
    holes: safe.holes(headSeq + 1),
    boat_head_seq: headSeq,
    boat_journal_bytes: journalBytes,
    last_seen: lastSeenMs === undefined ? null : new Date(lastSeenMs).toISOString(),
    bus_names: buses,
    live_through: accounted?.live ?? 0,
    backfill_through: accounted?.backfill ?? null,
    ranges: received.durable,
    void: received.void,
    lost: received.lost,
    vanished,
    open: isOpen,
    former: former.length === 0
      ? undefined
      : former.map(({ epoch, headSeq, received: { durable: ranges, void: never, lost } }) => {
        return { epoch, boat_head_seq: headSeq, ranges, void: never, lost };
      }),
  };
}

/**
 * Reads what {@linkcode keptState} gave.
 *
 * @throws {SyntaxError} it is no JSON
 * @throws {TypeError} it is not the state of this boat, or contradicts itself
 */
export function parseState(text: string, id: string): InstanceState {
  const found = record(JSON.parse(text));
  if (found["version"] !== VERSION) throw new TypeError(`it is no state of version ${VERSION}`);
  if (found["id"] !== id) throw new TypeError(`it is the state of ${JSON.stringify(found["id"])?.slice(0, 80)}`);
  const received: ReceivedRecord = {
    durable: readRanges(found, "ranges"),
    void: readRanges(found, "void"),
    lost: readLost(found["lost"]),
  };
  const epochs = readEpochs(found);
  const accounted = readAccounted(found);
  const { cursor, last } = new Received(received);
  if (found["cursor"] !== cursor) throw new TypeError(`its cursor is not ${cursor}, as its ranges say`);
  if (epochs.current === undefined && last > 0) throw new TypeError("it has ranges and no epoch");
  return {
    epochs,
    headSeq: readCount(found, "boat_head_seq"),
    journalBytes: readCount(found, "boat_journal_bytes"),
    lastSeenMs: readTime(found["last_seen"]),
    buses: readBuses(found["bus_names"] ?? []),
    ...(accounted && { accounted }),
    received,
    ...(found["vanished"] !== undefined && { vanished: readRanges(found, "vanished") }),
    ...(typeof found["open"] === "boolean" && { isOpen: found["open"] }),
    ...(found["former"] !== undefined && { former: readFormer(found["former"]) }),
  };
}

function readFormer(value: unknown): FormerState[] {
  if (!Array.isArray(value) || value.length > MAX_KEPT_FORMER) throw new TypeError(`its "former" is no list of epochs`);
  return value.map((each) => {
    const found = record(each);
    const { epoch } = found;
    if (typeof epoch !== "string" || !EPOCH.test(epoch)) throw new TypeError("its former epochs are none");
    const received = {
      durable: readRanges(found, "ranges"),
      void: readRanges(found, "void"),
      lost: readLost(found["lost"]),
    };
    return { epoch, headSeq: readCount(found, "boat_head_seq"), received };
  });
}

function readRanges(found: Record<string, unknown>, key: string): ReceivedRecord["durable"] {
  try {
    return [...Ranges.fromJSON(found[key])];
  } catch (error) {
    throw new TypeError(`its "${key}" cannot be used: ${errorText(error)}`);
  }
}

function readLost(value: unknown): LostRange[] {
  if (!Array.isArray(value)) throw new TypeError(`its "lost" is no list`);
  return value.flatMap((each) => {
    const { reason } = record(each);
    if (typeof reason !== "string" || reason.length > MAX_TEXT_BYTES) throw new TypeError(`its "lost" has no reasons`);
    return readRanges({ lost: [each] }, "lost").map((range) => ({ ...range, reason }));
  });
}

function readEpochs({ epoch, previous_epochs: previous }: Record<string, unknown>): EpochHistory {
  const isEpoch = (value: unknown): value is string => typeof value === "string" && EPOCH.test(value);
  if (epoch !== null && !isEpoch(epoch)) throw new TypeError("its epoch is none");
  if (!Array.isArray(previous) || previous.length > MAX_PREVIOUS_EPOCHS || !previous.every(isEpoch)) {
    throw new TypeError("its previous epochs are none");
  }
  return { current: epoch ?? undefined, previous };
}

function readBuses(value: unknown): string[] {
  const isName = (name: unknown): name is string => typeof name === "string" && name.length <= MAX_TEXT_BYTES;
  if (Array.isArray(value) && value.length <= MAX_BUSES && value.every(isName)) return value;
  throw new TypeError(`its "bus_names" are none`);
}

function readAccounted(found: Record<string, unknown>): Accounted | undefined {
  if (found["live_through"] === undefined) return undefined;
  const backfill = found["backfill_through"] ?? undefined;
  if (backfill !== undefined && typeof backfill !== "string") throw new TypeError(`its "backfill_through" is no name`);
  return { live: readCount(found, "live_through"), backfill };
}

function readCount(found: Record<string, unknown>, key: string): number {
  const value = found[key];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`its "${key}" is no whole number`);
}

function readTime(value: unknown): number | undefined {
  if (value === null) return undefined;
  const timeUs = typeof value === "string" ? parseTimestamp(value) : undefined;
  if (timeUs === undefined) throw new TypeError(`its "last_seen" is no time`);
  return Math.floor(timeUs / 1000);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
