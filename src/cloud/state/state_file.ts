import {
  asRecord,
  AtomicFile,
  type DurableFile,
  errorText,
  type Logger,
  parseTimestamp,
  readCount,
  readJsonFile,
} from "../../base/mod.ts";
import { type JournalIndex, MAX_BUSES } from "../../journal/mod.ts";
import { EPOCH_BYTES, type LostRange, MAX_TEXT_BYTES, type Range, Ranges } from "../../replication/mod.ts";
import { type FormerState, MAX_KEPT_FORMER } from "./former_epochs.ts";
import { type EpochHistory, MAX_PREVIOUS_EPOCHS, Received, type ReceivedRecord } from "./received.ts";
import { type Accounted, rebuildState } from "./state_file_rebuild.ts";

/** Name of the file in a boat's directory. */
export const STATE_FILE = "state.json";
/** Maximum size of the file; the maximum of ranges with the longest reasons takes two thirds of it. */
export const MAX_STATE_BYTES: number = 16 * 1024 * 1024;

const VERSION = 1;
const EPOCH: RegExp = new RegExp(`^[0-9a-f]{${2 * EPOCH_BYTES}}$`);

/** The saved state of one boat. */
export interface InstanceState {
  /** The boat's epochs; the other members are about the current one. */
  epochs: EpochHistory;
  /** Last number that the boat has declared. */
  headSeq: number;
  /** Size of the boat's journal that it has declared, bytes. */
  journalBytes: number;
  /** Time of the boat's last message, milliseconds since 1970; undefined: unknown. */
  lastSeenMs: number | undefined;
  /** Names of its buses by index; empty: it has declared none. */
  buses: readonly string[];
  /** The part of the files whose frames `received` contains; left out: unknown. */
  accounted?: Accounted;
  /** Received, void and lost numbers. */
  received: ReceivedRecord;
  /** Frames that have disappeared from the disk and were not received again; default none. */
  vanished?: readonly Range[];
  /** True if the files were open when this was saved and may have more frames. Left out: unknown. */
  isOpen?: boolean;
  /** Former epochs, newest first; left out: none is known. */
  former?: readonly FormerState[];
  /** True if the boat came while the object store did not answer: what it has of the boat is unknown. Default false. */
  isUnlisted?: boolean;
}

/** Options of {@linkcode loadState}. */
export interface LoadStateOptions {
  id: string;
  /** Opens the boat's journal files; called only if the state file cannot be used. */
  journal: () => Promise<JournalIndex>;
  log: Logger;
}

/** The state file in a boat's directory. */
export function stateFile(directory: string): DurableFile {
  return new AtomicFile(directory, { name: STATE_FILE, maxBytes: MAX_STATE_BYTES });
}

/**
 * Reads the saved state of a boat. If the file is missing or invalid, the received numbers are read from the journal files,
 * and the boat declares the rest in its next handshake.
 */
export async function loadState(file: DurableFile, { id, journal, log }: LoadStateOptions): Promise<InstanceState> {
  const parse = (text: string) => parseState(text, id);
  const kept = await readJsonFile(file, { what: `state of "${id}"`, parse, log });
  if (kept) return kept;
  const found = await rebuildState(await journal());
  const { last, count: frames } = new Received(found.received);
  if (frames > 0) log.info("boat state rebuilt from journal files", { id, frames });
  return { headSeq: last, journalBytes: 0, lastSeenMs: undefined, ...found };
}

/**
 * The content of the state file. `cursor` and `holes` are those of the frames on disk, from which a restart continues.
 *
 * @param id the boat
 */
export function encodeState(id: string, state: InstanceState): unknown {
  const { epochs, headSeq, journalBytes, lastSeenMs, buses, accounted, received } = state;
  const { vanished = [], isOpen = false, former = [], isUnlisted = false } = state;
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
    unlisted: isUnlisted || undefined,
    former: former.length === 0
      ? undefined
      : former.map(({ epoch, headSeq, received: { durable: ranges, void: skipped, lost } }) => {
        return { epoch, boat_head_seq: headSeq, ranges, void: skipped, lost };
      }),
  };
}

/**
 * Reads the content of a state file.
 *
 * @throws {SyntaxError} invalid JSON
 * @throws {TypeError} not the state of this boat, or contradictory
 */
export function parseState(text: string, id: string): InstanceState {
  const found = asRecord(JSON.parse(text));
  if (found["version"] !== VERSION) throw new TypeError(`expected a state of version ${VERSION}`);
  if (found["id"] !== id) throw new TypeError(`it is the state of ${JSON.stringify(found["id"])?.slice(0, 80)}`);
  const received = readReceived(found);
  const epochs = readEpochs(found);
  const accounted = readAccounted(found);
  const { cursor, last } = new Received(received);
  if (found["cursor"] !== cursor) throw new TypeError(`"cursor" contradicts the ranges: expected ${cursor}`);
  if (epochs.current === undefined && last > 0) throw new TypeError("it has ranges but no epoch");
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
    ...(found["unlisted"] === true && { isUnlisted: true }),
  };
}

function readFormer(value: unknown): FormerState[] {
  if (!Array.isArray(value) || value.length > MAX_KEPT_FORMER) throw new TypeError(`"former" is not a list of epochs`);
  return value.map((each) => {
    const found = asRecord(each);
    const { epoch } = found;
    if (!isEpoch(epoch)) throw new TypeError(`"former" has an invalid epoch`);
    return { epoch, headSeq: readCount(found, "boat_head_seq"), received: readReceived(found) };
  });
}

function readReceived(found: Record<string, unknown>): ReceivedRecord {
  return { durable: readRanges(found, "ranges"), void: readRanges(found, "void"), lost: readLost(found["lost"]) };
}

function readRanges(found: Record<string, unknown>, key: string): ReceivedRecord["durable"] {
  try {
    return [...Ranges.fromJSON(found[key])];
  } catch (error) {
    throw new TypeError(`"${key}" is invalid: ${errorText(error)}`);
  }
}

function readLost(value: unknown): LostRange[] {
  if (!Array.isArray(value)) throw new TypeError(`"lost" is not a list`);
  return value.flatMap((each) => {
    const { reason } = asRecord(each);
    if (!isName(reason)) throw new TypeError(`"lost" has a range without a reason`);
    return readRanges({ lost: [each] }, "lost").map((range) => ({ ...range, reason }));
  });
}

function readEpochs({ epoch, previous_epochs: previous }: Record<string, unknown>): EpochHistory {
  if (epoch !== null && !isEpoch(epoch)) throw new TypeError(`"epoch" is invalid`);
  if (!Array.isArray(previous) || previous.length > MAX_PREVIOUS_EPOCHS || !previous.every(isEpoch)) {
    throw new TypeError(`"previous_epochs" is invalid`);
  }
  return { current: epoch ?? undefined, previous };
}

function readBuses(value: unknown): string[] {
  if (Array.isArray(value) && value.length <= MAX_BUSES && value.every(isName)) return value;
  throw new TypeError(`"bus_names" is invalid`);
}

function isEpoch(value: unknown): value is string {
  return typeof value === "string" && EPOCH.test(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT_BYTES;
}

function readAccounted(found: Record<string, unknown>): Accounted | undefined {
  if (found["live_through"] === undefined) return undefined;
  const backfill = found["backfill_through"] ?? undefined;
  if (backfill !== undefined && typeof backfill !== "string") throw new TypeError(`"backfill_through" is not a name`);
  return { live: readCount(found, "live_through"), backfill };
}

function readTime(value: unknown): number | undefined {
  if (value === null) return undefined;
  const timeUs = typeof value === "string" ? parseTimestamp(value) : undefined;
  if (timeUs === undefined) throw new TypeError(`"last_seen" is not a time`);
  return Math.floor(timeUs / 1000);
}
