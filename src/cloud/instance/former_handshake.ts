import type { JournalIndex } from "../../journal/mod.ts";
import { type FormerEpoch, type FormerHoles, type HandshakeRequest, Ranges, RpcError } from "../../replication/mod.ts";
import { ContentCheck } from "../files/block_check.ts";
import type { Note } from "../state/diagnostic_events.ts";
import { acceptDeclaration, type FormerRecord } from "../state/former_epochs.ts";
import type { InstanceRecord } from "./record.ts";
import type { Received } from "../state/received.ts";
import { withNewerFrames } from "../state/state_file_rebuild.ts";

/** Maximum holes of a former epoch in one answer, the newest ones; later handshakes request the rest. */
const MAX_HOLES_PER_ANSWER = 1024;

/** The epoch that a block belongs to. */
export interface BlockTarget {
  /** Hex; undefined before the first handshake. */
  epoch: string | undefined;
  /** The 16 bytes that blocks must name; undefined: the blocks name no epoch. */
  blockEpoch: Uint8Array<ArrayBuffer> | undefined;
  received: Received;
  /** Undefined: the current epoch. */
  former?: FormerRecord;
}

/** Requests the missing frames of a boat's former epochs, and accepts or refuses their blocks. */
export class FormerHandshake {
  readonly #record: InstanceRecord;
  readonly #note: Note;
  readonly #content = new ContentCheck();

  constructor({ record, note }: { record: InstanceRecord; note: Note }) {
    this.#record = record;
    this.#note = note;
  }

  /** True if the cloud refuses the frames of a former epoch. */
  get isRefused(): boolean {
    return this.#record.former.isRefused;
  }

  /** The holes of each former epoch in the request; undefined if the boat does not support the feature. */
  async answer(
    { features, former = [] }: HandshakeRequest,
    { index, connection }: { index: JournalIndex; connection: string },
  ): Promise<readonly FormerHoles[] | undefined> {
    if (!features.includes("former") || !this.#record.knowsHoles()) return undefined;
    const answers: FormerHoles[] = [];
    for (const declared of former) {
      const { epoch, head } = declared;
      if (epoch.toHex() === this.#record.epoch) continue;
      const known = this.#record.former.get(epoch.toHex()) ?? await this.#discover(epoch, index);
      if (!known) {
        answers.push({ epoch, holes: [], refused: "the cloud already keeps the maximum number of former epochs" });
        continue;
      }
      await this.#compare(known, { declared, index, connection });
      const { received, refused } = known;
      const holes = received.holes(head + 1).slice(-MAX_HOLES_PER_ANSWER);
      const stored = this.#record.storedOf(epoch.toHex());
      const isUnstored = stored && new Ranges(received.record().durable).subtract(stored).count > 0;
      answers.push({ epoch, holes, ...(refused !== undefined && { refused }), ...(isUnstored && { isUnstored }) });
    }
    return answers;
  }

  /**
   * The target of blocks of an epoch, or why they are refused.
   *
   * @param epoch undefined: the current one
   * @param connection the connection that sends the blocks
   * @throws {RpcError} `FAILED_PRECONDITION`: no handshake has declared the epoch
   */
  targetOf(epoch: Uint8Array | undefined, connection: string): BlockTarget | string {
    const record = this.#record;
    if (epoch === undefined) return { epoch: record.epoch, blockEpoch: record.blockEpoch, received: record.received };
    const former = record.former.get(epoch.toHex());
    if (!former) {
      throw new RpcError("FAILED_PRECONDITION", `a handshake must declare epoch ${epoch.toHex()} before its blocks`);
    }
    if (former.refused !== undefined) return former.refused;
    acceptDeclaration(former, connection);
    return { epoch: former.epoch, blockEpoch: new Uint8Array(epoch), received: former.received, former };
  }

  #refuse(former: FormerRecord, reason: string): void {
    if (former.refused !== reason) this.#note("checkpoint", `epoch ${former.epoch} refused: ${reason}`);
    former.refused = reason;
  }

  /** Adds an epoch that the record does not know, with the frames that journal files and the store already have. */
  async #discover(epoch: Uint8Array<ArrayBuffer>, index: JournalIndex): Promise<FormerRecord | undefined> {
    const stored = { durable: [...this.#record.storedOf(epoch.toHex()) ?? []], void: [], lost: [] };
    const accounted = { live: 0, backfill: undefined };
    const received = await withNewerFrames(stored, { journal: index, epoch: epoch.toHex(), accounted });
    return this.#record.former.learn({ epoch: epoch.toHex(), headSeq: 0, received });
  }

  /** Compares stored frames with the boat's digests. The declaration is accepted once the newest stored frame matches. */
  async #compare(
    former: FormerRecord,
    { declared, index, connection }: { declared: FormerEpoch; index: JournalIndex; connection: string },
  ): Promise<void> {
    const { epoch, received, trusted } = former;
    const { head, digests = [] } = declared;
    const newest = received.lastThrough(head);
    const holds = (seqs: { start: number; end: number }) => received.hasAll(seqs);
    const verdict = await this.#content.compare(digests, { index, epoch, holds });
    former.declared = undefined;
    if (verdict.kind === "different") {
      const { firstSeq, lastSeq } = verdict;
      return this.#refuse(former, `frames ${firstSeq} to ${lastSeq} of epoch ${epoch} are here with other content`);
    }
    former.refused = undefined;
    former.declared = declared;
    if (verdict.throughSeq >= newest || connection === trusted) acceptDeclaration(former, connection);
  }
}
