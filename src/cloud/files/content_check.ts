import { isSameHash, type JournalIndex, readDigest, type WindowDigest } from "../../journal/mod.ts";
import { MAX_DIGESTS, type Range } from "../../replication/mod.ts";

/** Where the frames of a boat's epoch are. */
interface Stored {
  index: Pick<JournalIndex, "places">;
  /** Hex of 16 bytes. */
  epoch: string;
  /** Whether the frames of all these numbers are here. */
  holds: (seqs: Range) => boolean;
}

/**
 * What comparing digests came to.
 *
 * - `same`: nothing differs, and up to and with `throughSeq` something was compared; 0: nothing was
 * - `different`: these frames are not the same
 */
export type ContentVerdict =
  | { kind: "same"; throughSeq: number }
  | { kind: "different"; firstSeq: number; lastSeq: number };

/**
 * Windows whose frames are read for one comparison; each takes some 25 ms. The newest say most: a copy differs for ever from
 * where it was made. Older ones are compared when the boat comes again.
 */
const MAX_READ = 4;

/** Compares a boat's digests with its frames that are stored here. What was read once is remembered. */
export class ContentCheck {
  /** By epoch and numbers; stored frames do not change. */
  readonly #known = new Map<string, Uint8Array>();

  /** Compares the newest first, and no more than {@linkcode MAX_DIGESTS}. Reading gives others their turn. */
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

  /** Undefined where a frame cannot be read: that says nothing of who sent it. */
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
