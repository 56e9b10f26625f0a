import { type Clock, Ranges } from "../base/mod.ts";
import type { BoatFeed } from "../feed/mod.ts";
import { epochWordOf } from "../journal/mod.ts";
import { type InCloud, type Ledger, type LedgerRange, readLedger } from "../ledger/mod.ts";
import type { BoatLink, ReplicationStatus, StoredProgress } from "../replication/mod.ts";

/** Above all numbers. */
const END = Number.MAX_SAFE_INTEGER;

/** What the ledger of a boat is made from. */
interface LedgerParts {
  stores: BoatFeed;
  stored: StoredProgress | undefined;
  link: BoatLink | undefined;
  clock: Clock;
}

/** Reads the ledgers of a running boat server. */
export function ledgerOf(
  { stores, stored, link, clock }: LedgerParts,
): (range: LedgerRange, signal: AbortSignal) => Promise<Ledger> {
  const startUs = clock.wallUs();
  return (range, signal) => {
    const { journal, epoch, feed: { broker: { buses, head } } } = stores;
    const status = link?.status();
    const epochWord = epochWordOf(epoch);
    const { bootId, monoMs, firstSeq = stores.numbered.first } = journal?.run ?? {};
    // The ledger asks for each block.
    const byEpoch = new Map<number, InCloud>();
    const inCloudOf = (status: ReplicationStatus, word: number): InCloud => {
      const known = byEpoch.get(word) ?? inCloud(status, { word, isCurrent: word === epochWord, stored });
      byEpoch.set(word, known);
      return known;
    };
    const wallUs = journal?.index.clock.now(clock.wallUs()) ?? clock.wallUs();
    const run = {
      id: bootId?.toHex() ?? "",
      startUs: monoMs === undefined ? startUs : Math.round(wallUs - (clock.monoMs() - monoMs) * 1000),
      firstSeq,
    };
    return readLedger({
      index: journal?.index,
      now: {
        ...{ epochWord, head, buses, counts: stores.counts(), isRecording: journal !== undefined },
        ...{ run, timeUs: wallUs },
      },
      inCloud: status && ((word) => inCloudOf(status, word)),
      signal,
    }, range);
  };
}

/** What the cloud has confirmed of an epoch. */
function inCloud(
  status: ReplicationStatus,
  { word, isCurrent, stored }: { word: number; isCurrent: boolean; stored: StoredProgress | undefined },
): InCloud {
  const { cloud_durable_seq, cloud_cursor, cloud_stored_seq, lost, former_epochs = [] } = status;
  const declared = stored?.declaredOf(word) ?? new Ranges();
  const through = (seq: number) => new Ranges([{ start: 1, end: Math.min(seq + 1, END) }]);
  if (isCurrent) {
    const all = declared.union(new Ranges(lost));
    return {
      acknowledged: through(cloud_durable_seq ?? cloud_cursor).subtract(all),
      stored: through(cloud_stored_seq ?? 0).subtract(all),
    };
  }
  const former = former_epochs.find(({ epoch }) => epochWordOf(Uint8Array.fromHex(epoch)) === word);
  const gone = declared.union(new Ranges(former?.lost ?? stored?.lostOf(word) ?? []));
  const known = through(stored?.storedThrough(word) ?? 0).subtract(gone);
  if (!former?.holes) return { acknowledged: known, stored: known };
  const held = through(former.head_seq).subtract(new Ranges(former.holes)).subtract(gone);
  return { acknowledged: held.union(known), stored: known };
}
