import { type Range, Ranges } from "../../base/mod.ts";
import { epochWordOf, type FormerRecording, type WindowDigest } from "../../journal/mod.ts";
import type { ArchivePort } from "./archive.ts";
import { MissingNumbers } from "./missing.ts";
import { newestDigest, unprovenSeqs } from "./proof.ts";
import type { FormerProgress } from "./stored_progress.ts";
import type { FormerEpoch, FormerHoles, LostRange } from "../wire/messages.ts";

/** Maximum ranges of each kind per epoch: those of all epochs must fit into one message. */
const MAX_DECLARED_RANGES = 512;

/** An earlier epoch that is incomplete on the cloud, in `GET /replication/status`. Ends of ranges are exclusive. */
export interface FormerEpochStatus {
  /** 16 bytes in hex. */
  epoch: string;
  /** Highest recorded sequence number. */
  head_seq: number;
  /** Oldest sequence number in the journal. */
  oldest_seq: number;
  /** Ranges that the cloud is missing; null: not reported yet. */
  holes: readonly Range[] | null;
  /** Lost frames. */
  lost: readonly LostRange[];
  /** Why the cloud refuses the epoch. */
  refused?: string;
}

/** An earlier epoch, with what boat and cloud have exchanged about it. */
interface Former extends FormerRecording {
  /** Declared in each handshake. */
  readonly missing: MissingNumbers;
  /** Undefined until the cloud reports them. */
  holes: Ranges | undefined;
  refused: string | undefined;
  /** True after the cloud has compared the newest frames that it holds of the epoch. */
  isCompared: boolean;
  /** True after the cloud has accepted blocks of it: all that it holds are frames of this boat. */
  isFilled: boolean;
  /** True while the cloud holds frames of it that are not in its store yet. */
  isUnstored: boolean;
}

/** The earlier epochs: what the journal has of them, and what the cloud requests. Kept across connections. */
export class FormerEpochs {
  readonly #lostOf: (epochWord: number) => readonly LostRange[];
  #all: readonly Former[] = [];

  /** @param options.lostOf numbers of an epoch that were deleted before the cloud stored them; default none */
  constructor({ lostOf = () => [] }: { lostOf?: (epochWord: number) => readonly LostRange[] } = {}) {
    this.#lostOf = lostOf;
  }

  /** Reads the epochs of the journal. */
  async refresh(archive: Pick<ArchivePort, "former">): Promise<void> {
    const known = new Map(this.#all.map((each) => [each.epoch.toHex(), each]));
    const found = await archive.former?.() ?? [];
    this.#all = found.map((recording) => {
      const fresh = {
        missing: new MissingNumbers({ maxRanges: MAX_DECLARED_RANGES }),
        holes: undefined,
        refused: undefined,
        isCompared: false,
        isFilled: false,
        isUnstored: false,
      };
      return Object.assign(known.get(recording.epoch.toHex()) ?? { ...recording, ...fresh }, recording);
    });
    for (const { epoch, missing } of this.#all) missing.add(this.#lostOf(epochWordOf(epoch)));
  }

  /** How much of each epoch the cloud holds. */
  get progress(): FormerProgress[] {
    return this.#all.map(({ epoch, holes, refused, isCompared, isFilled, isUnstored }) => ({
      epochWord: epochWordOf(epoch),
      holes: refused === undefined ? holes : undefined,
      isHeld: refused === undefined && holes?.count === 0 && (isCompared || isFilled) && !isUnstored,
    }));
  }

  /** The epochs for a handshake request. @param digests by epoch in hex */
  toHandshake(digests: ReadonlyMap<string, WindowDigest>): FormerEpoch[] {
    return this.#all.map(({ epoch, head, oldest, missing }) => {
      const digest = digests.get(epoch.toHex());
      return { epoch, head, oldest, void: missing.void, lost: missing.lost, ...(digest && { digests: [digest] }) };
    });
  }

  /** Applies the cloud's response. An epoch that it does not mention is refused. */
  applyResponse(answers: readonly FormerHoles[]): void {
    for (const former of this.#all) {
      const answer = answers.find(({ epoch }) => epoch.toHex() === former.epoch.toHex());
      former.refused = answer ? answer.refused : "the cloud accepts no more epochs";
      former.isUnstored = answer?.isUnstored ?? false;
      const holes = new Ranges(answer?.holes ?? []).subtract(former.missing.all);
      holes.remove(former.head + 1, Number.MAX_SAFE_INTEGER);
      former.holes = holes;
    }
  }

  /**
   * Digests of the newest frames that the cloud holds, by epoch: of each incomplete epoch, and once of each complete
   * one, because its frames may be those of another machine.
   */
  async newestDigests({ index }: Pick<ArchivePort, "index">): Promise<Map<string, WindowDigest>> {
    const digests = new Map<string, WindowDigest>();
    for (const { epoch, head, oldest, holes, missing, refused, isCompared } of this.#all) {
      if (!holes || refused !== undefined || (isCompared && holes.count === 0)) continue;
      const held = new Ranges([{ start: 1, end: head + 1 }]).subtract(holes).subtract(missing.all);
      const seqs = unprovenSeqs(held, { sent: [], oldest, head });
      const digest = await newestDigest(held, { seqs, oldest, index, epoch });
      if (digest) digests.set(epoch.toHex(), digest);
    }
    return digests;
  }

  /** Marks the epochs as compared after a handshake with these digests. */
  markCompared(digests: ReadonlyMap<string, WindowDigest>): void {
    for (const former of this.#all) {
      if (digests.has(former.epoch.toHex()) && former.refused === undefined) former.isCompared = true;
    }
  }

  /** Epochs with missing frames, newest first. */
  incomplete(): { epoch: Uint8Array<ArrayBuffer>; head: number; oldest: number; holes: Ranges }[] {
    return this.#all.flatMap(({ epoch, head, oldest, holes, refused }) =>
      holes && holes.count > 0 && refused === undefined ? [{ epoch, head, oldest, holes }] : []
    );
  }

  /** Number of frames that the cloud requests. */
  get wantedFrames(): number {
    return this.incomplete().reduce((sum, { holes }) => sum + holes.count, 0);
  }

  /** Number of frames in refused epochs, and the reason of the first one. */
  get refused(): { frames: number; reason: string } | undefined {
    const refused = this.#all.filter((each) => each.refused !== undefined);
    const frames = refused.reduce((sum, { holes, head, oldest }) => sum + (holes?.count || head - oldest + 1), 0);
    const [first] = refused;
    return first && { frames, reason: first.refused ?? "" };
  }

  /** Applies the result of a backfill. @returns true if lost frames were found */
  applyBackfill(epoch: Uint8Array, { holes, lost }: { holes: readonly Range[]; lost: readonly LostRange[] }): boolean {
    const former = this.#all.find((each) => each.epoch.toHex() === epoch.toHex());
    if (!former) return false;
    former.holes = new Ranges(holes);
    former.isFilled = true;
    return former.missing.add(lost);
  }

  /** The incomplete epochs. */
  status(): FormerEpochStatus[] {
    return this.#all.flatMap(({ epoch, head, oldest, missing, holes, refused }) => {
      const isComplete = holes?.count === 0 && missing.lostFrames === 0 && refused === undefined;
      if (isComplete) return [];
      return [{
        epoch: epoch.toHex(),
        head_seq: head,
        oldest_seq: oldest,
        holes: holes ? [...holes] : null,
        lost: missing.lost,
        ...(refused !== undefined && { refused }),
      }];
    });
  }
}
