import { isSameHash, type JournalIndex, readDigest, type WindowDigest } from "../../journal/mod.ts";
import { MAX_DIGESTS, type Range } from "../../replication/mod.ts";

/** The stored frames of a boat's epoch. */
interface Stored {
  index: Pick<JournalIndex, "places">;
  /** Hex of 16 bytes. */
  epoch: string;
  /** True if all frames of the range are stored. */
  holds: (seqs: Range) => boolean;
}

/**
 * Result of comparing digests.
 *
 * - `same`: nothing differs; `throughSeq` is the highest number compared, 0: nothing was compared
 * - `different`: these frames differ
 */
export type ContentVerdict =
  | { kind: "same"; throughSeq: number }
  | { kind: "different"; firstSeq: number; lastSeq: number };

/**
 * Maximum windows whose frames are read for one comparison; each takes some 25 ms. The newest are compared first: a copy
 * differs in all frames after the copying. Later handshakes compare older ones.
 */
const MAX_READ = 4;

/** Compares a boat's digests with its stored frames. Caches the digests of stored frames. */
export class ContentCheck {
  /** By epoch and numbers; stored frames do not change. */
  readonly #known = new Map<string, Uint8Array>();

  /** Compares the newest {@linkcode MAX_DIGESTS} digests. Reading yields to the event loop. */
  async compare(digests: readonly WindowDigest[], { index, epoch, holds }: Stored): Promise<ContentVerdict> {
    let [throughSeq, read] = [0, 0];
    for (const digest of digests.slice(-MAX_DIGESTS).toReversed()) {
      const { firstSeq, lastSeq, hash } = digest;
      if (!holds({ start: firstSeq, end: lastSeq + 1 })) continue;
      const key = `${epoch} ${firstSeq} ${lastSeq}`;
      if (!this.#known.has(key) && read++ >= MAX_READ) continue;
      const stored = this.#known.get(key) ?? await this.#read(key, { digest, index, epoch });
      if (stored === undefined) continue;
      if (!isSameHash(stored, hash)) return { kind: "different", firstSeq, lastSeq };
      throughSeq = Math.max(throughSeq, lastSeq);
    }
    return { kind: "same", throughSeq };
  }

  /** The digest of stored frames; undefined if a frame cannot be read. */
  async #read(
    key: string,
    { digest, index, epoch }: Pick<Stored, "index" | "epoch"> & { digest: WindowDigest },
  ): Promise<Uint8Array | undefined> {
    const found = await readDigest(digest, { index, epoch: Uint8Array.fromHex(epoch) });
    if (!found) return undefined;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= MAX_DIGESTS) this.#known.delete(oldest);
    this.#known.set(key, found.hash);
    return found.hash;
  }
}
