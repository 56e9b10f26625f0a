import { type Range, Ranges } from "../../base/mod.ts";
import type { FormerRecording, WindowDigest } from "../../journal/mod.ts";
import type { ArchivePort } from "./archive.ts";
import { MissingNumbers } from "./missing.ts";
import { newestProof, toProve } from "./proof.ts";
import type { FormerEpoch, FormerHoles, LostRange } from "../wire/messages.ts";

/** Most ranges of each kind that are told of one epoch: those of all must fit into one message. */
const MAX_TOLD_RANGES = 512;

/** What of a former epoch is not in the cloud, as `GET /replication/status` has it. Ends of ranges are exclusive. */
export interface FormerEpochStatus {
  /** Hex. */
  epoch: string;
  /** Its last number that was recorded. */
  head_seq: number;
  /** The oldest one that is kept. */
  oldest_seq: number;
  /** What the cloud misses; null: it has not said yet. */
  holes: readonly Range[] | null;
  /** What is not to be had any more. */
  lost: readonly LostRange[];
  /** Why the cloud takes nothing of it. */
  refused?: string;
}

/** A former epoch, as far as boat and cloud have spoken of it. */
interface Former extends FormerRecording {
  /** What was found missing; told with each handshake. */
  readonly missing: MissingNumbers;
  /** Undefined: the cloud has said nothing yet. */
  holes: Ranges | undefined;
  refused: string | undefined;
  /** Whether the cloud has compared the newest frames that it has of it. */
  isShown: boolean;
}

/** The epochs before the current one: what the journal has of them, and what the cloud wants. Outlasts connections. */
export class FormerEpochs {
  #all: readonly Former[] = [];

  /** Looks what there is now. */
  async look(archive: Pick<ArchivePort, "former">): Promise<void> {
    const known = new Map(this.#all.map((each) => [each.epoch.toHex(), each]));
    const found = await archive.former?.() ?? [];
    this.#all = found.map((recording) => {
      const fresh = {
        missing: new MissingNumbers({ maxRanges: MAX_TOLD_RANGES }),
        holes: undefined,
        refused: undefined,
        isShown: false,
      };
      return Object.assign(known.get(recording.epoch.toHex()) ?? { ...recording, ...fresh }, recording);
    });
  }

  /** What a handshake tells. @param proofs digests by epoch, hex */
  told(proofs: ReadonlyMap<string, WindowDigest>): FormerEpoch[] {
    return this.#all.map(({ epoch, head, oldest, missing }) => {
      const proof = proofs.get(epoch.toHex());
      return { epoch, head, oldest, void: missing.void, lost: missing.lost, ...(proof && { digests: [proof] }) };
    });
  }

  /** Takes the cloud's answer. Of what it does not mention it takes nothing. */
  answered(answers: readonly FormerHoles[]): void {
    for (const former of this.#all) {
      const answer = answers.find(({ epoch }) => epoch.toHex() === former.epoch.toHex());
      former.refused = answer ? answer.refused : "the cloud takes no more epochs";
      const holes = new Ranges(answer?.holes ?? []).subtract(former.missing.all);
      holes.remove(former.head + 1, Number.MAX_SAFE_INTEGER);
      former.holes = holes;
    }
  }

  /**
   * Digests of the newest frames that the cloud has of those epochs that it misses something of, and once of each other one:
   * frames that it has under all numbers may be another machine's.
   */
  async proofs({ index }: Pick<ArchivePort, "index">): Promise<Map<string, WindowDigest>> {
    const proofs = new Map<string, WindowDigest>();
    for (const { epoch, head, oldest, holes, missing, refused, isShown } of this.#all) {
      if (!holes || refused !== undefined || (isShown && holes.count === 0)) continue;
      const held = new Ranges([{ start: 1, end: head + 1 }]).subtract(holes).subtract(missing.all);
      const seqs = toProve(held, { sent: [], oldest, head });
      const proof = await newestProof(held, { seqs, oldest, index, epoch });
      if (proof) proofs.set(epoch.toHex(), proof);
    }
    return proofs;
  }

  /** The cloud has answered a handshake with these digests. */
  shown(proofs: ReadonlyMap<string, WindowDigest>): void {
    for (const former of this.#all) {
      if (proofs.has(former.epoch.toHex()) && former.refused === undefined) former.isShown = true;
    }
  }

  /** Those of which the cloud wants something, newest first. */
  wanted(): { epoch: Uint8Array<ArrayBuffer>; head: number; oldest: number; holes: Ranges }[] {
    return this.#all.flatMap(({ epoch, head, oldest, holes, refused }) =>
      holes && holes.count > 0 && refused === undefined ? [{ epoch, head, oldest, holes }] : []
    );
  }

  /** Frames that the cloud wants. */
  get wantedFrames(): number {
    return this.wanted().reduce((sum, { holes }) => sum + holes.count, 0);
  }

  /** Frames of which the cloud takes none, and why the first of them are not taken. */
  get refused(): { frames: number; reason: string } | undefined {
    const refused = this.#all.filter((each) => each.refused !== undefined);
    const frames = refused.reduce((sum, { holes, head, oldest }) => sum + (holes?.count || head - oldest + 1), 0);
    const [first] = refused;
    return first && { frames, reason: first.refused ?? "" };
  }

  /** Blocks were sent: these frames are still missing, and those are not to be had. Gives whether that is news. */
  sent(epoch: Uint8Array, { holes, lost }: { holes: readonly Range[]; lost: readonly LostRange[] }): boolean {
    const former = this.#of(epoch);
    if (!former) return false;
    former.holes = new Ranges(holes);
    return former.missing.note(lost);
  }

  /** What is not in the cloud. */
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

  #of(epoch: Uint8Array): Former | undefined {
    return this.#all.find((each) => each.epoch.toHex() === epoch.toHex());
  }
}
