import { type Logger, turn } from "../base/mod.ts";
import {
  type Block,
  BlockReader,
  DirectoryClocks,
  epochWordOf,
  type JournalIndex,
  openJournalDirectory,
  orderBlocks,
  readMemoryBlock,
} from "../journal/mod.ts";
import { type Account, accountOf, type Unreadable } from "./account.ts";
import { type InCloud, type Ledger, LedgerWalk, type Now } from "./ledger.ts";
import { type LedgerReport, ledgerReport } from "./report.ts";

/** Times of a ledger, microseconds since 1970; left out: everything that is known. */
export interface LedgerRange {
  /** Begin. */
  fromUs?: number | undefined;
  /** End. */
  toUs?: number | undefined;
}

/** A block that can be read. */
interface Listed {
  epochWord: number;
  seq: number;
  timeUs: number;
  read(): Promise<Block | Unreadable["unreadable"]>;
}

/** What the ledger of a running server is made from. */
export interface LedgerSource {
  /** Undefined: nothing is recorded. */
  index: JournalIndex | undefined;
  /** The counters now. */
  now: Now;
  /** What the cloud has of an epoch; undefined: nothing is replicated. */
  inCloud?: ((epochWord: number) => InCloud) | undefined;
  /** Ends the reading. */
  signal?: AbortSignal | undefined;
}

/**
 * The ledger of a running server. The counters must have been read in the same turn as this is called.
 *
 * @throws {SourceUnavailableError} a file cannot be read now
 */
export async function readLedger({ index, now, inCloud, signal }: LedgerSource, range: LedgerRange): Promise<Ledger> {
  using reader = new BlockReader();
  const listed = index ? await listIndex(index, { reader, range }) : [];
  const upToNow = listed.filter(({ epochWord, seq }) => epochWord !== now.epochWord || seq <= now.head);
  return await addUp(upToNow, { range, now, inCloud, signal });
}

/**
 * The ledger of a journal directory, without the counters of a server that may be writing it.
 *
 * @throws {Deno.errors.NotFound} the directory does not exist, or has no journal
 */
export async function ledgerOfDirectory(
  directory: string,
  { log, signal, ...range }: LedgerRange & { log: Logger; signal?: AbortSignal },
): Promise<LedgerReport> {
  const { files, wals } = await openJournalDirectory(directory, { log });
  const clocks = new DirectoryClocks();
  await clocks.add(directory, { log });
  using reader = new BlockReader();
  const found = new Map<string, Listed>();
  for (const { path, epochWord, seq, timeUs, ...location } of orderBlocks([...files, ...wals])) {
    if (!Number.isFinite(seq)) continue;
    const read = async () => {
      const block = await reader.tryRead(path, location);
      return block ? clocks.corrected(block, { path, epochWord }) : "damaged";
    };
    // A block that could not be written whole may be in the next file again.
    found.set(`${epochWord} ${seq}`, { epochWord, seq, timeUs, read });
  }
  return ledgerReport(await addUp([...found.values()], { range, signal }));
}

/** Reads the blocks of a range, and those that its counters need. */
async function addUp(
  listed: readonly Listed[],
  { range: { fromUs = -Infinity, toUs = Infinity }, now, inCloud, signal }:
    & { range: LedgerRange }
    & Partial<Pick<LedgerSource, "now" | "inCloud" | "signal">>,
): Promise<Ledger> {
  const after = listed.findIndex(({ timeUs }) => timeUs > fromUs);
  const first = Math.max(0, (after < 0 ? listed.length : after) - 1);
  const isFromStart = (listed[first]?.timeUs ?? Infinity) > fromUs;
  const walk = new LedgerWalk({ ...(Number.isFinite(fromUs) && { fromUs }), isFromStart, inCloud });
  const untilUs = Math.min(toUs, now?.timeUs ?? Infinity);
  let hasAll = true;
  for (const block of listed.slice(first)) {
    const isBeginOnly = block.timeUs > toUs;
    // Counters up to here are known.
    if (isBeginOnly && (walk.lastUs ?? -Infinity) >= toUs) hasAll = false;
    if (!hasAll) break;
    await turn();
    signal?.throwIfAborted();
    walk.add(await read(block, now), { isBeginOnly });
    hasAll = !isBeginOnly;
  }
  if (now && hasAll && (walk.lastUs ?? -Infinity) < untilUs) walk.now(now);
  return walk.finish(now || toUs === Infinity ? undefined : toUs);
}

async function read(listed: Listed, now: Now | undefined): Promise<Account | Unreadable> {
  const block = await listed.read();
  if (typeof block === "string") return { unreadable: block };
  const account = accountOf(block, listed.epochWord);
  const most = now?.epochWord === account.epochWord ? now.head + 1 - account.firstSeq : Infinity;
  if (account.messages <= most) return account;
  // It has grown since the counters were read.
  return { ...account, messages: most, end: (account.end?.messages ?? Infinity) <= most ? account.end : undefined };
}

/** Blocks of the files that a range needs, and those that are in no file yet, in the order of their numbers. */
async function listIndex(
  index: JournalIndex,
  { reader, range: { fromUs = -Infinity, toUs = Infinity } }: { reader: BlockReader; range: LedgerRange },
): Promise<Listed[]> {
  // First: a block that is written to a file meanwhile is found twice rather than not at all.
  const { unwritten } = await index.locations({ fromSeq: Number.MAX_SAFE_INTEGER, epochWord: 0 });
  const epochs = index.epochOrder();
  const orderOf = (epochWord: number) => (epochs.indexOf(epochWord) + epochs.length + 1) % (epochs.length + 1);
  const files = index.files.filter(({ firstSeq, epochWord, isOutside }) =>
    firstSeq !== undefined && epochWord !== 0 && !isOutside
  );
  files.sort((a, b) => orderOf(a.epochWord) - orderOf(b.epochWord) || (a.firstSeq ?? 0) - (b.firstSeq ?? 0));
  const from = files.findLastIndex(({ firstTimeUs }) => firstTimeUs <= fromUs);
  const to = files.findIndex(({ firstTimeUs }) => firstTimeUs > toUs);
  const found = new Map<string, Listed>();
  for (const bytes of unwritten) {
    const recorded = readMemoryBlock(bytes);
    const { baseSeq: seq = 0, metadata: { epoch } } = recorded;
    const epochWord = epoch ? epochWordOf(epoch) : 0;
    const block = index.clock.spans.timed(recorded, epochWord);
    const { baseTimeUs: timeUs } = block;
    found.set(`${epochWord} ${seq}`, { epochWord, seq, timeUs, read: () => Promise.resolve(block) });
  }
  for (const { path, epochWord } of files.slice(Math.max(0, from), to < 0 ? undefined : to + 1)) {
    for (const { timeUs, seq, ...location } of await index.blocksOf(path)) {
      const read = async () => {
        const block = await reader.tryRead(path, location);
        if (block) return index.clock.spans.timed(block, epochWord);
        return index.infoOf(path) ? "damaged" : "pruned";
      };
      found.set(`${epochWord} ${seq}`, { epochWord, seq, timeUs, read });
    }
    await turn();
  }
  return [...found.values()].sort((a, b) => orderOf(a.epochWord) - orderOf(b.epochWord) || a.seq - b.seq);
}
