import type { Range } from "../../base/mod.ts";
import { DIGEST_BYTES, type WindowDigest, windowEnd, windowStart } from "../../journal/mod.ts";
import { readEpoch, readLost, readRange, writeEpoch, writeLost, writeRanges } from "./ranges.ts";
import { WireError, type WireReader, type WireWriter } from "./wire.ts";
import {
  EPOCH_BYTES,
  type FormerEpoch,
  type FormerHoles,
  type LostRange,
  MAX_DIGESTS,
  MAX_FORMER_EPOCHS,
  MAX_TEXT_BYTES,
} from "./messages.ts";

/** Writes digests as the values of a field. One that covers its window to the end does not say its last number. */
export function writeDigests(w: WireWriter, field: number, digests: readonly WindowDigest[]): void {
  w.list(field, digests, {
    max: MAX_DIGESTS,
    write: (digest) => {
      checkDigest(digest);
      const { firstSeq, lastSeq, hash } = digest;
      const end = w.length;
      w.uint64(3, lastSeq === windowEnd(firstSeq) ? 0 : lastSeq);
      w.bytes(2, hash, { max: DIGEST_BYTES });
      w.uint64(1, firstSeq);
      w.message(field, end);
    },
  });
}

/** Reads a digest, one more of its list. */
export function readDigest(r: WireReader, into: WindowDigest[]): void {
  r.push(into, { max: MAX_DIGESTS, read: () => r.message(digestOf) });
}

function digestOf(r: WireReader): WindowDigest {
  let [firstSeq, lastSeq] = [0, 0];
  let hash = new Uint8Array(0);
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) firstSeq = r.uint64();
    else if (field === 2) hash = new Uint8Array(r.bytes(DIGEST_BYTES));
    else if (field === 3) lastSeq = r.uint64();
    else r.skip();
  }
  const digest = { firstSeq, lastSeq: lastSeq === 0 ? windowEnd(firstSeq) : lastSeq, hash };
  checkDigest(digest);
  return digest;
}

function checkDigest({ firstSeq, lastSeq, hash }: WindowDigest): void {
  if (firstSeq < 1 || lastSeq < firstSeq || windowStart(firstSeq) !== windowStart(lastSeq)) {
    throw new WireError(`digest of ${firstSeq} to ${lastSeq} is not within one window`);
  }
  if (hash.length !== DIGEST_BYTES) throw new WireError(`digest has ${hash.length} bytes instead of ${DIGEST_BYTES}`);
}

/** Writes former epochs as the values of a field. */
export function writeFormer(w: WireWriter, field: number, former: readonly FormerEpoch[]): void {
  w.list(field, former, {
    max: MAX_FORMER_EPOCHS,
    write: ({ epoch, head, oldest, void: never, lost, digests = [] }) => {
      const end = w.length;
      writeDigests(w, 6, digests);
      writeLost(w, 5, lost);
      writeRanges(w, 4, never);
      w.uint64(3, oldest);
      w.uint64(2, head);
      writeEpoch(w, 1, epoch);
      w.message(field, end);
    },
  });
}

/** Reads a former epoch, one more of its list. */
export function readFormer(r: WireReader, into: FormerEpoch[]): void {
  r.push(into, { max: MAX_FORMER_EPOCHS, read: () => r.message(formerOf) });
}

function formerOf(r: WireReader): FormerEpoch {
  const [skipped, lost, digests]: [Range[], LostRange[], WindowDigest[]] = [[], [], []];
  let [head, oldest] = [0, 0];
  let epoch: Uint8Array<ArrayBuffer> | undefined;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) epoch = readEpoch(r);
    else if (field === 2) head = r.uint64();
    else if (field === 3) oldest = r.uint64();
    else if (field === 4) readRange(r, skipped);
    else if (field === 5) readLost(r, lost);
    else if (field === 6) readDigest(r, digests);
    else r.skip();
  }
  return { epoch: named(epoch), head, oldest, void: skipped, lost, ...(digests.length > 0 && { digests }) };
}

/** Writes what is wanted of former epochs as the values of a field. */
export function writeFormerHoles(w: WireWriter, field: number, former: readonly FormerHoles[]): void {
  w.list(field, former, {
    max: MAX_FORMER_EPOCHS,
    write: ({ epoch, holes, refused = "" }) => {
      const end = w.length;
      w.text(3, refused, { max: MAX_TEXT_BYTES });
      writeRanges(w, 2, holes);
      writeEpoch(w, 1, epoch);
      w.message(field, end);
    },
  });
}

/** Reads what is wanted of a former epoch, one more of its list. */
export function readFormerHoles(r: WireReader, into: FormerHoles[]): void {
  r.push(into, { max: MAX_FORMER_EPOCHS, read: () => r.message(formerHolesOf) });
}

function formerHolesOf(r: WireReader): FormerHoles {
  const holes: Range[] = [];
  let refused = "";
  let epoch: Uint8Array<ArrayBuffer> | undefined;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) epoch = readEpoch(r);
    else if (field === 2) readRange(r, holes);
    else if (field === 3) refused = r.text(MAX_TEXT_BYTES);
    else r.skip();
  }
  return { epoch: named(epoch), holes, ...(refused !== "" && { refused }) };
}

function named(epoch: Uint8Array<ArrayBuffer> | undefined): Uint8Array<ArrayBuffer> {
  if (!epoch) throw new WireError(`a former epoch has no ${EPOCH_BYTES} bytes that name it`);
  return epoch;
}
