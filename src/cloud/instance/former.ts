import type { JournalIndex } from "../../journal/mod.ts";
import { type FormerEpoch, type FormerHoles, type HandshakeRequest, RpcError } from "../../replication/mod.ts";
import { ContentCheck } from "../files/content_check.ts";
import type { Note } from "../state/diagnostic_events.ts";
import { acceptWord, type Former } from "../state/former_epochs.ts";
import type { InstanceRecord } from "./record.ts";
import type { Received } from "../state/received.ts";
import { withNewerFrames } from "../state/state_file_rebuild.ts";

/** Most holes of one former epoch that are told at once, the newest: who has more is told the rest later. */
const MAX_TOLD_HOLES = 1024;

/** Where blocks of one epoch belong. */
export interface BlockTarget {
  /** Hex; undefined before a handshake. */
  epoch: string | undefined;
  /** 16 bytes that blocks have to name; undefined: those of a boat that names none. */
  blockEpoch: Uint8Array<ArrayBuffer> | undefined;
  received: Received;
  /** The former epoch; undefined: the current one. */
  former?: Former;
}

/** What is asked of a boat's former epochs, and whether blocks of them are taken. */
export class InstanceFormer {
  readonly #record: InstanceRecord;
  readonly #note: Note;
  readonly #content = new ContentCheck();

  constructor({ record, note }: {
    record: InstanceRecord;
    note: Note;
  }) {
    this.#record = record;
    this.#note = note;
  }

  /** Whether nothing is taken of one of them. */
  get isRefused(): boolean {
    return this.#record.former.isRefused;
  }

  /** Answers what is wanted of each epoch that the boat has told; undefined where it does not know the feature. */
  async answer(
    { features, former = [] }: HandshakeRequest,
    { index, connection }: { index: JournalIndex; connection: string },
  ): Promise<readonly FormerHoles[] | undefined> {
    if (!features.includes("former")) return undefined;
    const answers: FormerHoles[] = [];
    for (const said of former) {
      const { epoch, head } = said;
      if (epoch.toHex() === this.#record.epoch) continue;
      const known = this.#record.former.get(epoch.toHex()) ?? await this.#learn(epoch, index);
      if (!known) {
        answers.push({ epoch, holes: [], refused: "there is no room for one more former epoch" });
        continue;
      }
      await this.#compare(known, { said, index, connection });
      const { received, refused } = known;
      const holes = received.holes(head + 1).slice(-MAX_TOLD_HOLES);
      answers.push({ epoch, holes, ...(refused !== undefined && { refused }) });
    }
    return answers;
  }

  /**
   * Where blocks of an epoch belong, or why they are not taken.
   *
   * @param epoch undefined: the current one
   * @param connection the one that they come by
   * @throws {RpcError} `FAILED_PRECONDITION`: no handshake has told of it
   */
  targetOf(epoch: Uint8Array | undefined, connection: string): BlockTarget | string {
    const record = this.#record;
    if (epoch === undefined) return { epoch: record.epoch, blockEpoch: record.blockEpoch, received: record.received };
    const former = record.former.get(epoch.toHex());
    if (!former) throw new RpcError("FAILED_PRECONDITION", `a handshake has to tell of epoch ${epoch.toHex()} first`);
    if (former.refused !== undefined) return former.refused;
    acceptWord(former, connection);
    return { epoch: former.epoch, blockEpoch: new Uint8Array(epoch), received: former.received, former };
  }

  /** Nothing of it is taken from the boat as it is now. */
  #refuse(former: Former, reason: string): void {
    if (former.refused !== reason) this.#note("checkpoint", `epoch ${former.epoch} refused: ${reason}`);
    former.refused = reason;
  }

  /** An epoch that the record does not know: of its frames there may be some in files. */
  async #learn(epoch: Uint8Array<ArrayBuffer>, index: JournalIndex): Promise<Former | undefined> {
    const nothing = { durable: [], void: [], lost: [] };
    const accounted = { live: 0, backfill: undefined };
    const received = await withNewerFrames(nothing, { journal: index, epoch: epoch.toHex(), accounted });
    return this.#record.former.learn({ epoch: epoch.toHex(), headSeq: 0, received });
  }

  /** Looks whether the newest frame that is here is the boat's; its word counts from then on. */
  async #compare(
    former: Former,
    { said, index, connection }: { said: FormerEpoch; index: JournalIndex; connection: string },
  ): Promise<void> {
    const { epoch, received, trusted } = former;
    const { head, digests = [] } = said;
    const newest = received.lastThrough(head);
    const holds = (seqs: { start: number; end: number }) => received.hasAll(seqs);
    const verdict = await this.#content.compare(digests, { index, epoch, holds });
    former.said = undefined;
    if (verdict.kind === "different") {
      const { firstSeq, lastSeq } = verdict;
      return this.#refuse(former, `frames ${firstSeq} to ${lastSeq} of epoch ${epoch} are here with other content`);
    }
    former.refused = undefined;
    former.said = said;
    if (verdict.throughSeq >= newest || connection === trusted) acceptWord(former, connection);
  }
}
