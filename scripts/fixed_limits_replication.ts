import { ACTIVE_MS } from "../src/cloud/instance/copy_detector.ts";
import { MAX_SEARCHED_WINDOWS } from "../src/replication/link/proof.ts";
import { CLOUD_DEFAULTS } from "../mod.ts";
import { MAX_OPEN_BACKFILL_FILES } from "../src/cloud/files/backfill_files.ts";
import { MAX_REJECTED, MAX_WAITING_BYTES as MAX_BACKFILL_BYTES } from "../src/cloud/service/backfill_session.ts";
import { MAX_PACKED_RATIO } from "../src/cloud/files/block_check.ts";
import { MAX_CHAIN_LENGTH } from "../src/pki/identity.ts";
import { MAX_PENDING_HANDSHAKES } from "../src/cloud/instance/sessions.ts";
import {
  MAX_DIAGNOSTIC_EVENTS,
  MAX_EVENT_LINES,
  MAX_HELD_RANGES,
  MAX_KEPT_FORMER,
  MAX_LOST_RANGES,
  MAX_PREVIOUS_EPOCHS,
  MAX_VOID_RANGES,
} from "../src/cloud/mod.ts";
import { PEER_HOLES_WAIT_MS, PEER_REPLAY_FRAMES } from "../src/cloud/peer/holes.ts";
import { FORMER_LIMITS as former } from "../src/cloud/state/former_epochs.ts";
import { MAX_WARM_UP_FRAMES } from "../src/cloud/replica/warm_up.ts";
import { MAX_CLOCK_SPANS, MAX_FORMER_RECORDINGS } from "../src/journal/mod.ts";
import { DIGEST_WINDOW, MAX_WINDOW_DIGESTS } from "../src/journal/digest/window_digest.ts";
import { MAX_CALLS_PER_CONNECTION } from "../src/replication/grpc/server.ts";
import { MAX_COLLECT_MS } from "../src/replication/link/live.ts";
import { MAX_SAVED_RANGES } from "../src/replication/link/stored_progress.ts";
import { RECEIVE_WINDOW_BYTES } from "../src/replication/grpc/stream.ts";
import {
  MAX_BATCH_FRAMES,
  MAX_MESSAGE_BYTES,
  MAX_RANGES,
  MAX_TEXT_BYTES,
  MAX_TEXTS,
  MAX_UNANSWERED_BLOCKS,
} from "../src/replication/mod.ts";
import { MAX_INSTANCE_ID_LENGTH } from "../src/pki/mod.ts";
import { bytes, count, type FixedLimit, ms } from "./fixed_limit.ts";

/** Limits of the replication, in the cloud and on the boat. */
export const REPLICATION: readonly FixedLimit[] = [
  {
    what: "Time for which a boat collects live frames, whatever the cloud asks for",
    limit: ms(MAX_COLLECT_MS),
    beyond: "The boat sends what it has collected.",
  },
  {
    what: "Corrections of recorded times that a journal keeps and a boat sends",
    limit: count(MAX_CLOCK_SPANS),
    beyond: "The oldest are forgotten: those times are as recorded.",
  },
  {
    what: "Bytes of a replication message",
    limit: bytes(MAX_MESSAGE_BYTES),
    beyond: "The call ends with RESOURCE_EXHAUSTED.",
  },
  {
    what:
      "Parts of a replication message: frames of a batch, ranges, texts and their bytes, characters of an instance id",
    limit: [MAX_BATCH_FRAMES, MAX_RANGES, MAX_TEXTS, MAX_TEXT_BYTES, MAX_INSTANCE_ID_LENGTH].map(count).join(", "),
    beyond: "The call ends with INVALID_ARGUMENT.",
  },
  {
    what: "gRPC calls at a time on one connection",
    limit: count(MAX_CALLS_PER_CONNECTION),
    beyond: "Further calls wait or are refused by HTTP/2.",
  },
  {
    what: "Bytes on one replication connection that the receiver has not read",
    limit: bytes(RECEIVE_WINDOW_BYTES),
    beyond: "The sender waits.",
  },
  {
    what: "Connections of one boat with a completed handshake",
    limit: count(MAX_PENDING_HANDSHAKES),
    beyond: "The oldest needs another handshake before its next stream.",
  },
  {
    what: "Certificates of a boat's chain that are read",
    limit: count(MAX_CHAIN_LENGTH),
    beyond: "Further certificates are ignored; the boat is refused if they were needed.",
  },
  {
    what: "Bytes of unpacked blocks of one boat that wait to be written",
    limit: bytes(MAX_BACKFILL_BYTES),
    beyond: "The boat waits.",
  },
  {
    what: "Refused blocks that have not been reported to the boat",
    limit: count(MAX_REJECTED),
    beyond: "The boat waits.",
  },
  {
    what: "Blocks that a boat has sent without an answer",
    limit: count(MAX_UNANSWERED_BLOCKS),
    beyond: "The boat waits.",
  },
  {
    what: "Bytes of a block on the wire",
    limit: `${MAX_PACKED_RATIO} times its unpacked size`,
    beyond: "The block is refused; its frames stay a hole.",
  },
  {
    what: "Ranges of numbers that the cloud holds of one boat",
    limit: count(MAX_HELD_RANGES),
    beyond: "RESOURCE_EXHAUSTED for live frames, and blocks are refused: the lowest holes are filled first.",
  },
  {
    what: "Ranges of one boat that were never used or are lost",
    limit: `${count(MAX_VOID_RANGES)} and ${count(MAX_LOST_RANGES)}`,
    beyond: "Further ranges stay holes until the boat reports them again.",
  },
  {
    what: "Former epochs of one boat that the cloud remembers",
    limit: count(MAX_PREVIOUS_EPOCHS),
    beyond: "The oldest is forgotten.",
  },
  {
    what: "Backfill files of one boat that are open",
    limit: count(MAX_OPEN_BACKFILL_FILES),
    beyond: "The oldest is closed; further blocks begin a new file.",
  },
  {
    what: "Frames of the journal that are read again when a boat is loaded into memory",
    limit: count(MAX_WARM_UP_FRAMES),
    beyond: "Devices and values of older frames come from the snapshot alone.",
  },
  {
    what: "Cloud: how long sessions wait for missing frames after the boat has disconnected",
    limit: ms(CLOUD_DEFAULTS.holeGraceMs),
    beyond: "The session continues; a dropped event with backfill: true has the numbers.",
  },
  {
    what: "Cloud: how long a gap of a connected lplex boat remains after its last block, until its journal has grown",
    limit: ms(PEER_HOLES_WAIT_MS),
    beyond: "Its live stream is ended, once per gap: the boat reconnects and sends what it has written since.",
  },
  {
    what: "Cloud: newest frames that an lplex boat sends live again after that",
    limit: count(PEER_REPLAY_FRAMES),
    beyond: "Older frames remain a gap until the boat reconnects for another reason.",
  },
  {
    what: "Digests of a recording that a boat keeps and sends",
    limit: `${MAX_WINDOW_DIGESTS} windows of ${DIGEST_WINDOW} numbers; blocks below 256 KiB keep one for each 4 KiB`,
    beyond: "The oldest windows are no longer compared.",
  },
  {
    what: "Former epochs whose frames a boat offers its cloud",
    limit: `the ${MAX_FORMER_RECORDINGS} newest`,
    beyond: "Older ones stay on the boat until a newer one is deleted there.",
  },
  {
    what: "Former epochs of one boat that a cloud accepts frames of",
    limit: count(MAX_KEPT_FORMER),
    beyond: "Others are refused; see former_epochs in the boat's status.",
  },
  {
    what: "Ranges of one former epoch that a cloud keeps",
    limit: `${former.maxHeldRanges} held, ${former.maxVoidRanges} skipped, ${former.maxLostRanges} lost`,
    beyond: "Blocks that would make one more are refused until holes are filled; further gaps stay holes.",
  },
  {
    what: "Silence after which another stream of a boat no longer counts as active",
    limit: ms(ACTIVE_MS),
    beyond: "A boat that lacks the newest frames of the cloud is accepted.",
  },
  {
    what: "Windows that a boat searches for frames that prove its recording",
    limit: count(MAX_SEARCHED_WINDOWS),
    beyond: "It proves nothing; the cloud decides as for a copy.",
  },
  {
    what: "Diagnostic events kept of one boat",
    limit: count(MAX_DIAGNOSTIC_EVENTS),
    beyond: "The oldest is forgotten.",
  },
  {
    what: "Lines of a boat's file events.log",
    limit: count(MAX_EVENT_LINES),
    beyond: `The file is replaced by the newest ${MAX_DIAGNOSTIC_EVENTS} events.`,
  },
  {
    what: "Ranges of frames deleted before the cloud stored them that a boat remembers over a restart, for each epoch",
    limit: count(MAX_SAVED_RANGES),
    beyond: 'The backfill finds that they are missing, and reports them as "deleted on the boat".',
  },
];
