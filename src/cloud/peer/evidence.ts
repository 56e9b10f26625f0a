import { sourceOfId } from "../../frame/mod.ts";

/** A frame of a peer cloud's file. */
export interface PeerFrame {
  /** 29 bits, without a bus. */
  id: number;
  pgn: number;
  /** Microseconds since 1970, as in the file. */
  timeUs: number;
  data: Uint8Array<ArrayBuffer>;
}

/** A frame with a known number, to compare with. */
export interface NumberedFrame extends PeerFrame {
  seq: number;
}

/** Consecutive frames of a block with known numbers. */
export interface Stretch {
  /** Index of the first frame. */
  from: number;
  /** Index after the last frame. */
  to: number;
  /** Number of the first frame. */
  firstSeq: number;
  /** The block's times minus the boat's times of the same frames, microseconds. */
  shiftUs: number;
}

/** Information about a block from its header and from other blocks. */
export interface Evidence {
  /** Number of the first frame in the block's header; 0: unknown. */
  baseSeq: number;
  /** Frames with known numbers around the block's time, in any order. */
  numbered: readonly NumberedFrame[];
  /** Time of the first frame of the block that begins with a number; undefined: none does. */
  beginsAt: (seq: number) => number | undefined;
}

/** Minimum consecutive frames with equal content and time steps that prove that they are the same frames. */
const SAME_FRAMES = 32;
/** Consecutive frames that form one lookup key. */
const KEY_FRAMES = 4;
const ADDRESS_CLAIM = 60928;
const PRODUCT_INFORMATION = 126996;

/**
 * Finds the frames of a block whose numbers and times are certain. A peer's cloud only records the number of a block's first
 * frame. Frames that it missed, and copies of address claims that it inserts at each connection, shift the numbers of all
 * later frames. Numbers are certain between two positions that agree. Such positions are the block's beginning, frames that
 * the boat's own blocks contain, too, and the number with which another block begins where this one ends. Address claims in
 * between may be inserted copies, so they are certain only if a block of the boat contains them.
 *
 * @example
 * ```ts
 * import { knownStretches } from "./evidence.ts";
 *
 * const frame = { id: 0x9f80101, pgn: 129025, timeUs: 5, data: new Uint8Array(8) };
 * const evidence = { baseSeq: 7, numbered: [], beginsAt: (seq: number) => seq === 8 ? 6 : undefined };
 * knownStretches([frame], evidence); // [{ from: 0, to: 1, firstSeq: 7, shiftUs: 0 }]
 * ```
 */
export function knownStretches(frames: readonly PeerFrame[], evidence: Evidence): Stretch[] {
  const anchors = sameFrames(frames, evidence.numbered);
  const { baseSeq } = evidence;
  if (baseSeq > 0 && frames.length > 0 && anchors[0]?.from !== 0) {
    anchors.unshift({ from: 0, to: 1, firstSeq: baseSeq, shiftUs: 0 });
  }
  const found: Stretch[] = [];
  for (const [i, anchor] of anchors.entries()) {
    if (anchor.to - anchor.from >= SAME_FRAMES) found.push(anchor);
    const next = anchors[i + 1];
    const isAgreed = next
      ? next.firstSeq - anchor.firstSeq === next.from - anchor.from && next.shiftUs === anchor.shiftUs
      : isFollowed(frames, { anchor, beginsAt: evidence.beginsAt });
    if (isAgreed) found.push(...between(frames, { anchor, to: next?.from ?? frames.length }));
  }
  return found;
}

/** True if another block begins with the number after the last frame's, and not earlier in time. */
function isFollowed(
  frames: readonly PeerFrame[],
  { anchor: { from, firstSeq, shiftUs }, beginsAt }: { anchor: Stretch; beginsAt: Evidence["beginsAt"] },
): boolean {
  const timeUs = beginsAt(firstSeq + frames.length - from);
  const last = frames.at(-1);
  return timeUs !== undefined && last !== undefined && timeUs >= last.timeUs - shiftUs;
}

/** The frames from an anchor to `to`, without possible copies. */
function between(frames: readonly PeerFrame[], { anchor, to }: { anchor: Stretch; to: number }): Stretch[] {
  const { shiftUs } = anchor;
  const isSame = anchor.to - anchor.from >= SAME_FRAMES;
  const found: Stretch[] = [];
  let from = isSame ? anchor.to : anchor.from;
  for (let at = from; at <= to; at++) {
    const frame = frames[at];
    if (at < to && frame && !mayBeCopy(frames, at)) continue;
    if (at > from) found.push({ from, to: at, firstSeq: anchor.firstSeq + from - anchor.from, shiftUs });
    from = at + 1;
  }
  return found;
}

/** True if the peer may have inserted the frame to introduce a device. */
function mayBeCopy(frames: readonly PeerFrame[], at: number): boolean {
  const pgn = frames[at]?.pgn;
  if (pgn === ADDRESS_CLAIM) return true;
  if (pgn !== PRODUCT_INFORMATION) return false;
  const before = frames[at - 1];
  // An inserted product information follows the claim of its device.
  return before !== undefined && sourceOfId(before.id) === sourceOfId(frames[at]?.id ?? 0) && mayBeCopy(frames, at - 1);
}

/** Stretches of frames that equal numbered ones and have the same time steps. */
function sameFrames(frames: readonly PeerFrame[], numbered: readonly NumberedFrame[]): Stretch[] {
  if (numbered.length < SAME_FRAMES) return [];
  const bySeq = new Map(numbered.map((frame) => [frame.seq, frame]));
  // Blocks of the boat may overlap.
  const known = [...bySeq.values()].sort((one, other) => one.seq - other.seq);
  const seqsByKey = new Map<string, number[]>();
  const texts = new Map<PeerFrame, string>();
  const textOf = (frame: PeerFrame): string => {
    const known = texts.get(frame) ?? `${frame.id}#${frame.data.toHex()}`;
    texts.set(frame, known);
    return known;
  };
  for (const [i, { seq }] of known.entries()) {
    const key = keyAt(known, { at: i, textOf });
    if (key !== undefined) seqsByKey.set(key, [...seqsByKey.get(key) ?? [], seq]);
  }
  const found: Stretch[] = [];
  for (let at = 0; at < frames.length;) {
    const key = keyAt(frames, { at, textOf });
    const stretches = (key === undefined ? [] : seqsByKey.get(key) ?? [])
      .map((seq) => stretchAt(frames, { at, seq, bySeq, textOf }))
      .filter(({ from, to }) => to - from >= SAME_FRAMES);
    const [only, ...others] = stretches;
    if (only && others.length === 0) found.push(only);
    at = only && others.length === 0 ? only.to : at + 1;
  }
  return found;
}

/** Content and time steps of the next {@linkcode KEY_FRAMES} frames; undefined: there are fewer. */
function keyAt(
  frames: readonly PeerFrame[],
  { at, textOf }: { at: number; textOf: (frame: PeerFrame) => string },
): string | undefined {
  const first = frames[at];
  if (!first || at + KEY_FRAMES > frames.length) return undefined;
  let key = "";
  for (let i = at; i < at + KEY_FRAMES; i++) {
    const frame = frames[i];
    if (frame) key += `${frame.timeUs - first.timeUs} ${textOf(frame)} `;
  }
  return key;
}

function stretchAt(
  frames: readonly PeerFrame[],
  { at, seq, bySeq, textOf }: {
    at: number;
    seq: number;
    bySeq: ReadonlyMap<number, NumberedFrame>;
    textOf: (frame: PeerFrame) => string;
  },
): Stretch {
  const shiftUs = (frames[at]?.timeUs ?? 0) - (bySeq.get(seq)?.timeUs ?? 0);
  let to = at;
  for (; to < frames.length; to++) {
    const [frame, other] = [frames[to], bySeq.get(seq + to - at)];
    if (!frame || !other || frame.timeUs - other.timeUs !== shiftUs || textOf(frame) !== textOf(other)) break;
  }
  return { from: at, to, firstSeq: seq, shiftUs };
}
