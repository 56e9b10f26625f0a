import type { z } from "zod";
import { Ranges } from "../../base/mod.ts";
import { type Instance, isPeerEpoch } from "../../cloud/mod.ts";
import { formatTimeUs, newStoredFrame } from "../../frame/mod.ts";
import { type Block, epochWordOf } from "../../journal/mod.ts";
import {
  type CloudEpoch,
  type CloudPart,
  type LedgerRange,
  type LedgerReport,
  messagesInCloud,
} from "../../ledger/mod.ts";
import type { HistoryIndex, HistorySource } from "../history/history.ts";
import { HistoryTurns } from "../history/turns.ts";
import { type ledgerQuery, ledgerRange } from "../ledger.ts";
import { json, recordingOff } from "../reply.ts";

/** Text of the ledger of a cloud for the API description. */
export const CLOUD_LEDGER_SUMMARY =
  "What became of the messages of a boat, as its cloud knows it: numbered on the boat, recorded here, missing, each with " +
  "its reason; from the first to the last message in the time range. Frames are counted on the boat only";

/** Answers `GET /instances/{id}/ledger`. @throws {ApiError} 400; 503: too many requests wait */
export async function ledgerReply(
  instance: Instance,
  { request, query, subject: { journal, clock, histories = new HistoryTurns() } }: {
    request: Request;
    query: z.output<typeof ledgerQuery>;
    subject: Pick<HistorySource, "journal" | "clock" | "histories">;
  },
): Promise<Response> {
  const range = ledgerRange(query, clock.wallUs());
  if (!journal) throw recordingOff();
  const release = await histories.take(request);
  try {
    return json(await ledgerInCloud({ index: journal.index, instance, range, signal: request.signal }));
  } finally {
    release();
  }
}

/** Beginning and end of what was found of an epoch. */
interface FoundEpoch {
  found: Ranges;
  first: Block;
  last: Block;
}

/**
 * The ledger of a boat as its cloud knows it: of its messages, from the first to the last one that the cloud has in the time
 * range; up to the boat's newest number, if the range reaches the present.
 *
 * @throws {SourceUnavailableError} a file cannot be read now
 */
async function ledgerInCloud(
  { index, instance, range, signal }: {
    index: HistoryIndex;
    instance: Instance;
    range: LedgerRange;
    signal: AbortSignal;
  },
): Promise<LedgerReport> {
  const { fromUs, toUs } = range;
  const epochs = epochsOf(instance);
  const known = new Map<number, FoundEpoch>();
  for await (const { block, epochWord } of index.epochBlocks({ fromUs, toUs, isCorrected: true })) {
    signal.throwIfAborted();
    const { baseSeq, frameCount } = block;
    if (baseSeq === undefined || frameCount === 0) continue;
    const seen = known.get(epochWord) ?? { found: new Ranges(), first: block, last: block };
    seen.found.add(baseSeq, baseSeq + frameCount);
    known.set(epochWord, { ...seen, last: block });
  }
  const isFromStart = fromUs === undefined || !await hasBefore(index, fromUs);
  const parts = partsOf(epochs, { known, isFromStart, isToEnd: toUs === undefined });
  const times = [...known.values()];
  const from = times.length > 0 ? formatTimeUs(Math.min(...times.map(({ first }) => first.baseTimeUs))) : null;
  const to = times.length > 0 ? formatTimeUs(Math.max(...times.map(({ last }) => latestUs(last)))) : null;
  const none = { recorded: 0, acknowledged: null, stored: null, interface_frames: null };
  const { closed, ...messages } = messagesInCloud(parts);
  const unknown = from === null || to === null ? [] : [{ from, to, reason: "frames_on_boat", ...none }];
  return { from, to, closed, buses: [{ bus: null, frames: null, unknown, closed, ...messages }] };
}

/** The boat's epochs, in the order in which they began. Those of a peer's boat have no name in blocks. */
function epochsOf({ record }: Instance): CloudEpoch[] {
  const named = record.epochs.filter((epoch) => !isPeerEpoch(epoch));
  return named.flatMap((epoch) => {
    const isCurrent = epoch === record.epoch;
    const former = record.former.get(epoch);
    const received = isCurrent ? record.received : former?.received;
    const declared = isCurrent ? record.newestSeq : former?.headSeq;
    if (!received || declared === undefined) return [];
    const headSeq = Math.max(declared, received.last);
    const { durable } = received.record();
    return {
      ...{ epochWord: epochWordOf(Uint8Array.fromHex(epoch)), headSeq, durable },
      ...{ void: received.void, lost: received.lost, holes: received.holes(headSeq + 1) },
      stored: record.storedOf(epoch) ?? new Ranges(durable),
    };
  });
}

/** The numbers of each epoch that the range is of. */
function partsOf(
  epochs: readonly CloudEpoch[],
  { known, isFromStart, isToEnd }: { known: Map<number, FoundEpoch>; isFromStart: boolean; isToEnd: boolean },
): CloudPart[] {
  const isWanted = ({ epochWord }: CloudEpoch) => known.has(epochWord);
  const first = isFromStart ? 0 : epochs.findIndex(isWanted);
  const last = isToEnd ? epochs.length - 1 : epochs.findLastIndex(isWanted);
  if (first < 0) return [];
  return epochs.slice(first, last + 1).map((epoch, at): CloudPart => {
    const { found } = known.get(epoch.epochWord) ?? { found: new Ranges() };
    const [start] = found;
    const isWhole = { start: at > 0 || isFromStart, end: first + at < last || isToEnd };
    // Of numbers that came while the files were read, it is not known why others before them are missing.
    return {
      ...{ epoch, found },
      from: isWhole.start ? 1 : start?.start ?? 1,
      to: isWhole.end ? epoch.headSeq : Math.min(found.last ?? 0, epoch.headSeq),
    };
  });
}

/** Whether the cloud has frames from before a time. */
async function hasBefore(index: HistoryIndex, timeUs: number): Promise<boolean> {
  for await (const { block } of index.epochBlocks({ toUs: timeUs, isCorrected: true })) {
    if (block.baseTimeUs < timeUs) return true;
  }
  return false;
}

/** Time of the latest frame of a block, microseconds since 1970. */
function latestUs(block: Block): number {
  const frame = newStoredFrame();
  let latest = block.baseTimeUs;
  for (const cursor = block.frames(); cursor.next(frame);) latest = Math.max(latest, frame.timeUs);
  return latest;
}
