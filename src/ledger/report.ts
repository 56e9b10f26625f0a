import { formatTimeUs } from "../frame/mod.ts";
import type { Ledger } from "./ledger.ts";

/** A ledger as JSON: the body of `GET /ledger`. */
export interface LedgerReport {
  /** Begin of the figures, RFC 3339; null: nothing is known. */
  from: string | null;
  /** End of the figures. */
  to: string | null;
  /** True if every bus is closed. */
  closed: boolean;
  /** The buses. */
  buses: BusReport[];
}

/** The ledger of a bus as JSON. */
export interface BusReport {
  /** Name; null: all buses together. */
  bus: string | null;
  /** Frames; null: only the boat knows them. */
  frames: FramesReport | null;
  /** Messages. */
  messages: MessagesReport;
  /** Times of which it is not known what came. */
  unknown: UnknownReport[];
  /** True if both sums are exact. */
  closed: boolean;
  /** By how much they are not. */
  off: { frames: number; messages: number };
}

/** Frames of a bus: received = dropped + incomplete + in_messages + waiting. */
export interface FramesReport {
  /** Counted by the kernel or the gateway, those that it dropped included. */
  received: number;
  /** Dropped by the kernel, the interface or the gateway. */
  dropped: number;
  /** Frames that became no message, by reason. */
  incomplete: Record<string, number>;
  /** Frames of numbered messages. */
  in_messages: number;
  /** Frames that wait for the rest of their message at the end, less those at the beginning. */
  waiting: number;
}

/** Messages: numbered = recorded + missing. */
export interface MessagesReport {
  /** Messages that have a number. */
  numbered: number;
  /** Messages in the journal. */
  recorded: number;
  /** Messages that the cloud has confirmed; null: nothing is replicated. */
  acknowledged: number | null;
  /** Messages in the cloud's store; null: nothing is replicated. */
  stored: number | null;
  /** Messages that are not recorded, by reason. */
  missing: Record<string, number>;
}

/** A time of which it is not known what came. */
export interface UnknownReport {
  /** Begin, RFC 3339. */
  from: string;
  /** End, RFC 3339. */
  to: string;
  /** Why it is not known. */
  reason: string;
  /** Messages of this time that are recorded all the same. */
  recorded: number;
  /** Of them, those that the cloud has confirmed; null: nothing is replicated. */
  acknowledged: number | null;
  /** Of them, those in the cloud's store; null: nothing is replicated. */
  stored: number | null;
  /** Frames that the interface has counted meanwhile; null: not known. */
  interface_frames: number | null;
}

/** A ledger as JSON. */
export function ledgerReport({ fromUs, toUs, buses }: Ledger): LedgerReport {
  const reports = buses.map(({ bus, frames: { inMessages, ...frames }, messages, unknown, off }) => ({
    bus,
    frames: { ...frames, in_messages: inMessages },
    messages: { ...messages, acknowledged: messages.acknowledged ?? null, stored: messages.stored ?? null },
    unknown: unknown.map(({ fromUs, toUs, reason, recorded, acknowledged, stored, interfaceFrames = null }) => ({
      ...{ from: formatTimeUs(fromUs), to: formatTimeUs(toUs), reason, recorded },
      acknowledged: messages.acknowledged === undefined ? null : acknowledged,
      stored: messages.stored === undefined ? null : stored,
      interface_frames: interfaceFrames,
    })),
    closed: off.frames === 0 && off.messages === 0,
    off,
  }));
  const timeOf = (timeUs: number | undefined) => timeUs === undefined ? null : formatTimeUs(timeUs);
  return { from: timeOf(fromUs), to: timeOf(toUs), closed: reports.every(({ closed }) => closed), buses: reports };
}
