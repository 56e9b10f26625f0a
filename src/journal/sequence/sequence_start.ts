import { errorText } from "../../base/mod.ts";
import { ID_BYTES } from "../block/metadata.ts";

/** Content of `head.json`: which numbers may have been assigned. */
export interface StoredHead {
  /** Epoch, 32 hex digits. */
  epoch: string;
  /** Last number that may have been assigned. */
  reservedThrough: number;
  /** Last assigned number, after an orderly shutdown. */
  cleanHead?: number;
  /** True if more numbers of this epoch were assigned than a power failure can remove from the journal. */
  isUsed?: boolean;
  /** Epochs that the journal may still end with, because it has no block of this one yet; newest first. */
  previous: readonly string[];
}

/** Last position of the journal including its WAL. */
export interface JournalEnd {
  /** Epoch of the newest block; undefined for files of other software. */
  epoch?: Uint8Array | undefined;
  /** Its last sequence number. */
  seq: number;
}

/** Range of numbers; both ends are inclusive. */
export interface SeqRange {
  /** First number. */
  from: number;
  /** Last number. */
  to: number;
}

/**
 * Reason for a new epoch, whose numbers start at 1.
 *
 * - `first_start`: there is neither state nor a journal
 * - `head_missing`, `head_damaged`: the state is lost, so the last assigned number is unknown
 * - `head_outdated`: the journal shows that the state is an older copy
 * - `not_durable`: no more numbers could be reserved on disk
 * - `asked`: the cloud has seen higher numbers
 */
export interface EpochReason {
  /** For programs. */
  code: "first_start" | "head_missing" | "head_damaged" | "head_outdated" | "not_durable" | "asked";
  /** For people. */
  message: string;
}

/**
 * How the numbers continue after a start. `skipped`: the numbers between the end of the journal and the first new one;
 * `isUnrecorded`: some or all of them were assigned to frames that the journal lacks.
 */
export type SequenceStart =
  | { kind: "continued"; first: number; skipped?: SeqRange; isUnrecorded?: true }
  | { kind: "new"; first: 1; reason: EpochReason };

/** Result of reading `head.json`. */
export type HeadFound = { kind: "head"; head: StoredHead } | { kind: "missing" } | { kind: "damaged"; why: string };

/** Half of the largest exact integer, so that later additions stay exact. */
const MAX_SEQ = Number.MAX_SAFE_INTEGER / 2;
const EPOCH_FORM = new RegExp(`^[0-9a-f]{${ID_BYTES * 2}}$`);

/** Parses the content of `head.json`. */
export function parseHead(bytes: Uint8Array): HeadFound {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    return { kind: "damaged", why: errorText(error) };
  }
  const { epoch, reserved_through: reservedThrough, clean_head: cleanHead, used, previous = [] } = isRecord(value)
    ? value
    : {};
  if (!isEpoch(epoch)) return { kind: "damaged", why: `the epoch is ${JSON.stringify(epoch)}` };
  if (!isSeq(reservedThrough)) {
    return { kind: "damaged", why: `reserved_through is ${JSON.stringify(reservedThrough)}` };
  }
  if (!Array.isArray(previous) || !previous.every(isEpoch)) {
    return { kind: "damaged", why: "previous is not a list of epochs" };
  }
  const head = { epoch, reservedThrough, previous, ...(used === true && { isUsed: true }) };
  if (cleanHead === undefined) return { kind: "head", head };
  if (!isSeq(cleanHead) || cleanHead > reservedThrough) {
    return { kind: "damaged", why: `clean_head is ${JSON.stringify(cleanHead)}` };
  }
  return { kind: "head", head: { ...head, cleanHead } };
}

/** Formats the content of `head.json`. */
export function formatHead({ epoch, reservedThrough, cleanHead, isUsed, previous }: StoredHead): string {
  const rest = { clean_head: cleanHead, used: isUsed, previous };
  return JSON.stringify({ epoch, reserved_through: reservedThrough, ...rest }) + "\n";
}

/**
 * Decides how the numbers continue. State that contradicts the journal is an older copy, which would assign numbers twice:
 * the journal ends in another epoch, or beyond the end of an orderly shutdown, or so close to the end of the reserve that
 * more numbers would have been reserved before.
 *
 * @param options.reserve numbers reserved at once
 */
export function decideStart(
  found: HeadFound,
  { journal, reserve }: { journal: JournalEnd | undefined; reserve: number },
): SequenceStart {
  if (found.kind === "damaged") return startNew("head_damaged", `head.json is damaged: ${found.why}`);
  if (found.kind === "missing") {
    return journal
      ? startNew("head_missing", "head.json is missing beside a journal")
      : startNew("first_start", "this is the first start");
  }
  const { epoch, reservedThrough, cleanHead, isUsed = false, previous } = found.head;
  const first = (cleanHead ?? reservedThrough) + 1;
  const journalEpoch = journal?.epoch?.toHex();
  const isEmpty = !journal || (journalEpoch !== undefined && previous.includes(journalEpoch));
  if (!isEmpty && journalEpoch !== epoch) {
    return startNew("head_outdated", `the journal ends in epoch ${journalEpoch ?? "unknown"}, head.json has ${epoch}`);
  }
  // Last recorded number of this epoch.
  const recorded = isEmpty ? 0 : journal.seq;
  const plausible = cleanHead ?? reservedThrough - reserve / 4;
  if (!isEmpty && recorded > plausible) {
    return startNew("head_outdated", `the journal ends at ${recorded}, head.json knows up to ${first - 1}`);
  }
  // Without a journal it is unknown which numbers had a frame, only that some had.
  const isUnrecorded = cleanHead === undefined ? !journal && isUsed : recorded < cleanHead;
  const skipped = skippedRange(recorded + 1, first - 1);
  return { kind: "continued", first, ...skipped, ...(isUnrecorded && { isUnrecorded }) };
}

function startNew(code: EpochReason["code"], message: string): SequenceStart {
  return { kind: "new", first: 1, reason: { code, message } };
}

function skippedRange(from: number, to: number): { skipped?: SeqRange } {
  return to < from ? {} : { skipped: { from, to } };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isEpoch(value: unknown): value is string {
  return typeof value === "string" && EPOCH_FORM.test(value);
}

function isSeq(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_SEQ;
}
