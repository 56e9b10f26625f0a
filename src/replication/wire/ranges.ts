import type { Range } from "../../base/mod.ts";
import { WireError, type WireReader, type WireWriter } from "./wire.ts";
import { EPOCH_BYTES, type LostRange, MAX_MESSAGE_BYTES, MAX_RANGES, MAX_TEXT_BYTES } from "./messages.ts";

/** Writes ranges as the values of a field. */
export function writeRanges(w: WireWriter, field: number, ranges: readonly Range[]): void {
  w.list(field, ranges, {
    max: MAX_RANGES,
    write: (range) => {
      const end = w.length;
      writeRange(w, range);
      w.message(field, end);
    },
  });
}

/** Writes lost ranges as the values of a field. */
export function writeLost(w: WireWriter, field: number, ranges: readonly LostRange[]): void {
  w.list(field, ranges, {
    max: MAX_RANGES,
    write: (range) => {
      const end = w.length;
      w.text(3, range.reason, { max: MAX_TEXT_BYTES });
      writeRange(w, range);
      w.message(field, end);
    },
  });
}

function writeRange(w: WireWriter, range: Range): void {
  checkOrder(range);
  w.uint64(2, range.end);
  w.uint64(1, range.start);
}

/** Reads a range, one more of its list. */
export function readRange(r: WireReader, into: Range[]): void {
  r.push(into, { max: MAX_RANGES, read: () => r.message(rangeOf) });
}

function rangeOf(r: WireReader): Range {
  const [start, end] = readPair(r);
  checkOrder({ start, end });
  return { start, end };
}

/** Reads a lost range, one more of its list. */
export function readLost(r: WireReader, into: LostRange[]): void {
  r.push(into, { max: MAX_RANGES, read: () => r.message(lostOf) });
}

function lostOf(r: WireReader): LostRange {
  let [start, end, reason] = [0, 0, ""];
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) start = r.uint64();
    else if (field === 2) end = r.uint64();
    else if (field === 3) reason = r.text(MAX_TEXT_BYTES);
    else r.skip();
  }
  checkOrder({ start, end });
  return { start, end, reason };
}

function checkOrder({ start, end }: Range): void {
  if (end < start) throw new WireError(`range ends before it starts: ${start} to ${end}`);
}

/** The numbers of fields 1 and 2. */
export function readPair(r: WireReader): [first: number, second: number] {
  let [first, second] = [0, 0];
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) first = r.uint64();
    else if (field === 2) second = r.uint64();
    else r.skip();
  }
  return [first, second];
}

function checkEpoch(bytes: Uint8Array): void {
  if (bytes.length !== EPOCH_BYTES) throw new WireError(`epoch has ${bytes.length} bytes instead of ${EPOCH_BYTES}`);
}

/** Reads an epoch. */
export function readEpoch(r: WireReader): Uint8Array<ArrayBuffer> {
  const bytes = r.bytes(MAX_MESSAGE_BYTES);
  checkEpoch(bytes);
  return new Uint8Array(bytes);
}

/** Writes an epoch; nothing where there is none. */
export function writeEpoch(w: WireWriter, field: number, epoch: Uint8Array | undefined): void {
  if (!epoch) return;
  checkEpoch(epoch);
  w.bytes(field, epoch, { max: EPOCH_BYTES });
}
