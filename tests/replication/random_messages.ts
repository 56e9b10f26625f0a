import type {
  BackfillStatus,
  BackfillUpstream,
  FormerEpoch,
  HandshakeRequest,
  HandshakeResponse,
  LiveFrame,
  LiveStatus,
  LiveUpstream,
  Range,
} from "../../src/replication/mod.ts";
import type { ClockSpan, WindowDigest } from "../../src/journal/mod.ts";
import type { Random } from "../support/random.ts";

/** A number of any size that the protocol has, zero and the highest among them. */
function number(random: Random): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.floor(random.next() * 2 ** random.int(54)));
}

/** The number of a frame, the highest among them. */
function seq(random: Random): number {
  return Math.min(Number.MAX_SAFE_INTEGER - 1, number(random));
}

function numberOrZero(random: Random): number {
  return random.chance(0.3) ? 0 : number(random);
}

function number32(random: Random): number {
  return number(random) % 2 ** 32;
}

function list<T>(random: Random, make: () => T): T[] {
  return Array.from({ length: random.chance(0.3) ? 0 : random.int(6) }, make);
}

function text(random: Random): string {
  return Array.from({ length: random.int(12) }, () => random.pick([..."aZ09._-é水🚢\0 "])).join("");
}

function range(random: Random): Range {
  const start = number(random);
  return { start, end: Math.max(start, number(random)) };
}

function frame(random: Random): LiveFrame {
  return {
    seq: number(random),
    timestampUs: number(random),
    canId: number32(random),
    data: random.bytes(random.chance(0.9) ? random.int(10) : random.int(1786)),
  };
}

/** Within one window, and not to its end: there the last number is not sent. */
function digest(random: Random): WindowDigest {
  const window = Math.floor(number(random) / 2 / 65_536) * 65_536;
  const first = random.int(60_000);
  return {
    firstSeq: Math.max(1, window + first),
    lastSeq: window + random.between(first + 1, 65_534),
    hash: random.bytes(8),
  };
}

function former(random: Random): FormerEpoch {
  const digests = list(random, () => digest(random));
  return {
    epoch: random.bytes(16),
    head: seq(random),
    oldest: number(random),
    void: list(random, () => range(random)),
    lost: list(random, () => ({ ...range(random), reason: text(random) })),
    ...(digests.length > 0 && { digests }),
  };
}

export function randomRequest(random: Random): HandshakeRequest {
  const [formers, digests] = [list(random, () => former(random)), list(random, () => digest(random))];
  return {
    instanceId: text(random),
    headSeq: seq(random),
    journalBytes: number(random),
    epoch: random.chance(0.5) ? random.bytes(16) : undefined,
    features: list(random, () => text(random)),
    void: list(random, () => range(random)),
    oldestSeq: number(random),
    busNames: list(random, () => text(random)),
    lost: list(random, () => ({ ...range(random), reason: text(random) })),
    ...(formers.length > 0 && { former: formers }),
    ...(digests.length > 0 && { digests }),
  };
}

export function randomResponse(random: Random): HandshakeResponse {
  const formerHoles = list(random, () => ({
    epoch: random.bytes(16),
    holes: list(random, () => range(random)),
    ...(random.chance(0.5) && { refused: `x${text(random)}` }),
    ...(random.chance(0.5) && { isUnstored: true }),
  }));
  return {
    cursor: number(random),
    holes: list(random, () => range(random)),
    liveStartFrom: number(random),
    features: list(random, () => text(random)),
    known: random.chance(0.5),
    durableThrough: number(random),
    rateLimit: number32(random),
    rateBurst: number32(random),
    ...(formerHoles.length > 0 && { formerHoles }),
    ...(random.chance(0.5) && { storedThrough: numberOrZero(random) }),
  };
}

function clockSpan(random: Random): ClockSpan {
  return {
    epochWord: number32(random),
    firstSeq: number(random),
    lastSeq: number(random) || undefined,
    recordedUs: number(random),
    trueUs: number(random),
    // As exactly as the protocol has it.
    rate: (1e12 + random.between(-4e11, 9e11)) / 1e12,
  };
}

export function randomLiveUpstream(random: Random): LiveUpstream {
  const status = { headSeq: seq(random), journalBytes: number(random) };
  return random.pick<() => LiveUpstream>([
    () => ({ kind: "frame", frame: frame(random) }),
    () => ({ kind: "status", status }),
    () => ({ kind: "batch", frames: list(random, () => frame(random)) }),
    () => ({ kind: "clock", spans: list(random, () => clockSpan(random)) }),
    () => ({ kind: "unknown" }),
  ])();
}

export function randomLiveStatus(random: Random): LiveStatus {
  const stored = random.chance(0.5) && { storedThrough: numberOrZero(random) };
  const collect = random.chance(0.5) && { collectMs: random.between(1, 10_000) };
  return { ackSeq: number(random), receivedThrough: number(random), ...stored, ...collect };
}

export function randomBackfillUpstream(random: Random): BackfillUpstream {
  if (random.chance(0.1)) return { block: undefined };
  return {
    block: {
      baseSeq: number(random),
      baseTimeUs: number(random),
      frameCount: number32(random),
      data: random.bytes(random.int(20_000)),
      compressed: random.chance(0.5),
      blockSize: number32(random),
      fileOffset: number(random),
      length: number32(random),
      ...(random.chance(0.5) && { epoch: random.bytes(16) }),
    },
  };
}

export function randomBackfillStatus(random: Random): BackfillStatus {
  return {
    continuousThrough: number(random),
    remaining: list(random, () => range(random)),
    filled: list(random, () => range(random)),
    rejected: list(random, () => ({ baseSeq: number(random), reason: text(random) })),
    ...(random.chance(0.5) && { epoch: random.bytes(16) }),
  };
}
