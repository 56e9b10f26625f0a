import type { BoatReplication, InstanceStatus, LostSpan, SeqSpan } from "@vessel/gateway/client";

/** What is known of a range of frames in the cloud. */
export type SegmentKind = "there" | "hole" | "lost";

/** A piece of the line of all frames; `from` and `to` are shares of its length, 0 to 1. */
export interface Segment {
  kind: SegmentKind;
  from: number;
  to: number;
  /** Frames in the piece. */
  count: number;
  /** For people. */
  text: string;
}

/** Ranges of an epoch's frames, from frame 1 to `head`. */
export interface FrameRanges {
  head: number;
  holes: readonly SeqSpan[];
  lost: readonly LostSpan[];
  /** Frames after all others that are being sent. */
  onTheWay: number;
}

/** Smallest piece that can be seen and tapped, as a share of the line. */
const MIN_SHARE = 0.006;

/**
 * Ranges as the boat knows them. Without a connection everything after the last confirmed frame is missing; with one, frames
 * that are sent live are on their way.
 */
export function rangesOfBoat(status: BoatReplication): FrameRanges {
  const { connected, local_head_seq: head, cloud_cursor: cursor, live_lag: lag, holes, lost } = status;
  if (connected) return { head, holes, lost, onTheWay: lag };
  const known = Math.max(cursor, ...holes.map((each) => each.end - 1), ...lost.map((each) => each.end - 1));
  const tail = known < head ? [{ start: known + 1, end: head + 1 }] : [];
  return { head, holes: [...holes, ...tail], lost, onTheWay: 0 };
}

/** Ranges as the cloud knows them. */
export function rangesOfCloud({ boat_head_seq: head, holes, lost }: InstanceStatus): FrameRanges {
  return { head, holes, lost, onTheWay: 0 };
}

/** Frames in ranges. */
export function countOf(spans: readonly SeqSpan[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

/**
 * The line of all frames, in order: what is in the cloud, and between it what is missing. A hole of a few frames among
 * millions is drawn wider than it is, so that it can be seen.
 */
export function segmentsOf({ head, holes, lost }: Omit<FrameRanges, "onTheWay">): Segment[] {
  if (head < 1) return [];
  const missing = [
    ...holes.map(({ start, end }) => ({ kind: "hole" as const, start, end, why: "not in the cloud yet" })),
    ...lost.map(({ start, end, reason }) => ({ kind: "lost" as const, start, end, why: `lost: ${reason}` })),
  ].sort((a, b) => a.start - b.start);
  const pieces: { kind: SegmentKind; start: number; end: number; why: string }[] = [];
  let next = 1;
  for (const piece of missing) {
    if (piece.start > next) pieces.push({ kind: "there", start: next, end: piece.start, why: "in the cloud" });
    pieces.push(piece);
    next = Math.max(next, piece.end);
  }
  if (next <= head) pieces.push({ kind: "there", start: next, end: head + 1, why: "in the cloud" });
  const widths = pieces.map(({ kind, start, end }) => Math.max((end - start) / head, kind === "there" ? 0 : MIN_SHARE));
  const all = widths.reduce((sum, each) => sum + each, 0);
  let from = 0;
  return pieces.map(({ kind, start, end, why }, index) => {
    const to = from + (widths[index] ?? 0) / all;
    const segment = { kind, from, to, count: end - start, text: `${rangeText(start, end)} ${why}` };
    from = to;
    return segment;
  });
}

function rangeText(start: number, end: number): string {
  return end - start === 1 ? `frame ${start}` : `frames ${start} to ${end - 1} (${end - start})`;
}
