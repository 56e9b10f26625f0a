import { sourceOfId } from "../../frame/mod.ts";
/** A frame of a peer cloud's file. */
export interface PeerFrame {
  /** 29 bits, without a bus. */
  id: number;
  pgn: number;
  /** Microseconds since 1970, as the file has it. */
  timeUs: number;
  data: Uint8Array<ArrayBuffer>;
}

/** A frame whose number is known, to compare with. */
export interface NumberedFrame extends PeerFrame {
  seq: number;
}

/** Frames of a block whose numbers are known: from one place up to but without another. */
export interface Stretch {
  from: number;
  to: number;
  /** Number of the first of them. */
  firstSeq: number;
  /** How much later than the boat has it the block has their times, microseconds. */
  shiftUs: number;
}

/** What is known of a block from elsewhere. */
export interface Evidence {
  /** Number of the first frame, as the block's header has it; 0: it is not known. */
  baseSeq: number;
  /** Frames around the block's time whose numbers are known, in any order. */
  numbered: readonly NumberedFrame[];
  /** Time of the first frame of a block that begins with a number; undefined: none does. */
  beginsAt: (seq: number) => number | undefined;
}

/** So many frames in a row with the same content and the same steps of time are the same frames. */
const SAME_FRAMES = 32;
/** Frames that are looked up together. */
const KEY_FRAMES = 4;
const ADDRESS_CLAIM = 60928;
const PRODUCT_INFORMATION = 126996;

/**
 * Finds the frames of a block whose numbers and times are beyond doubt. A peer's cloud writes down the number of a block's
 * first frame alone. Frames that it missed, and copies of address claims that it puts in at each connection, make the
 * numbers of all later frames wrong. A number counts as known between two places that agree: the block's beginning, frames
 * that the boat's own blocks have, too, and the number with which another block begins where this one ends. Address claims
 * in between may be such copies, so they count only where a block of the boat has them.
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
  const places = sameFrames(frames, evidence.numbered);
  const { baseSeq } = evidence;
  if (baseSeq > 0 && frames.length > 0 && places[0]?.from !== 0) {
    places.unshift({ from: 0, to: 1, firstSeq: baseSeq, shiftUs: 0 });
  }
  const found: Stretch[] = [];
  for (const [i, place] of places.entries()) {
    if (place.to - place.from >= SAME_FRAMES) found.push(place);
    const next = places[i + 1];
    const isAgreed = next
      ? next.firstSeq - place.firstSeq === next.from - place.from && next.shiftUs === place.shiftUs
      : isFollowed(frames, { place, beginsAt: evidence.beginsAt });
    if (isAgreed) found.push(...between(frames, { place, to: next?.from ?? frames.length }));
  }
  return found;
}

/** Whether another block begins with the number that follows the last frame's, and not before it. */
function isFollowed(
  frames: readonly PeerFrame[],
  { place: { from, firstSeq, shiftUs }, beginsAt }: { place: Stretch; beginsAt: Evidence["beginsAt"] },
): boolean {
  const timeUs = beginsAt(firstSeq + frames.length - from);
  const last = frames.at(-1);
  return timeUs !== undefined && last !== undefined && timeUs >= last.timeUs - shiftUs;
}

/** The frames from a place on, without the address claims and what follows each at once. */
function between(frames: readonly PeerFrame[], { place, to }: { place: Stretch; to: number }): Stretch[] {
  const { shiftUs } = place;
  const isSame = place.to - place.from >= SAME_FRAMES;
  const found: Stretch[] = [];
  let from = isSame ? place.to : place.from;
  for (let at = from; at <= to; at++) {
    const frame = frames[at];
    if (at < to && frame && !mayBeCopy(frames, at)) continue;
    if (at > from) found.push({ from, to: at, firstSeq: place.firstSeq + from - place.from, shiftUs });
    from = at + 1;
  }
  return found;
}

/** Whether a frame may be one that the peer's boat put in to introduce its devices. */
function mayBeCopy(frames: readonly PeerFrame[], at: number): boolean {
  const pgn = frames[at]?.pgn;
  if (pgn === ADDRESS_CLAIM) return true;
  if (pgn !== PRODUCT_INFORMATION) return false;
  const before = frames[at - 1];
  // What introduces a device follows its claim.
  return before !== undefined && sourceOfId(before.id) === sourceOfId(frames[at]?.id ?? 0) && mayBeCopy(frames, at - 1);
}

/** Stretches of frames that are among the numbered ones, with the same steps of time. */
function sameFrames(frames: readonly PeerFrame[], numbered: readonly NumberedFrame[]): Stretch[] {
  if (numbered.length < SAME_FRAMES) return [];
  const bySeq = new Map(numbered.map((frame) => [frame.seq, frame]));
  // Blocks of the boat may overlap.
  const known = [...bySeq.values()].sort((one, other) => one.seq - other.seq);
  const places = new Map<string, number[]>();
  const texts = new Map<PeerFrame, string>();
  const textOf = (frame: PeerFrame): string => {
    const known = texts.get(frame) ?? `${frame.id}#${frame.data.toHex()}`;
    texts.set(frame, known);
    return known;
  };
  for (const [i, { seq }] of known.entries()) {
    const key = keyAt(known, { at: i, textOf });
    if (key !== undefined) places.set(key, [...places.get(key) ?? [], seq]);
  }
  const found: Stretch[] = [];
  for (let at = 0; at < frames.length;) {
    const key = keyAt(frames, { at, textOf });
    const stretches = (key === undefined ? [] : places.get(key) ?? [])
      .map((seq) => stretchAt(frames, { at, seq, bySeq, textOf }))
      .filter(({ from, to }) => to - from >= SAME_FRAMES);
    const [only, ...others] = stretches;
    if (only && others.length === 0) found.push(only);
    at = only && others.length === 0 ? only.to : at + 1;
  }
  return found;
}

/** What some frames in a row are, and the steps of time between them; undefined: there are not so many. */
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
