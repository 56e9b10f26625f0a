import type { CanFrame } from "../../src/frame/mod.ts";
import { bam, control, fast, packets, rts } from "./fragments.ts";
import { canFrame, claim, type FrameInit, product } from "./messages.ts";
import type { Random } from "./random.ts";

const FAST_PGNS = [129029, 129540, 126720, 126208, 130820];
const SOURCES = [0, 1, 2, 252, 253, 254, 255];
const NAMES = [0n, 1n, 2n, 3n, 2n ** 64n - 1n];

/** One kind of traffic: the frames of one happening. */
type Kind = (random: Random, init: FrameInit) => CanFrame[];

/** What a hostile or broken bus may bring; every kind gives whole or harmed messages. */
const KINDS: Record<string, Kind> = {
  noise: (random) => [{ ...canFrame({ data: random.bytes(random.int(9)) }), id: random.int(2 ** 29) }],
  oversized: (
    random,
    init,
  ) => [canFrame({ ...init, pgn: random.pick([127250, ...FAST_PGNS]), data: random.bytes(64) })],
  single: (random, init) => [canFrame({ ...init, data: random.bytes(random.int(9)) })],
  fragment: (random, init) => [fragment(random, init)],
  fastPacket: (random, init) => {
    const sequence = random.int(8);
    return fast(random.bytes(random.between(1, 223)), { ...init, pgn: random.pick(FAST_PGNS), sequence });
  },
  claim: (random, init) => [claim(random.pick(NAMES), init)],
  brokenClaim: (random, init) => [canFrame({ ...init, pgn: 60928, data: random.bytes(random.int(8)) })],
  product: (random, init) => {
    const { data, offset, length } = product("model", { length: random.pick([134, 134, 133, 50, 1]) });
    return fast(data.slice(offset, offset + length), { ...init, pgn: 126996, sequence: random.int(8) });
  },
  broadcast: (random, init) => {
    const session = { ...init, dst: 255, inner: random.pick([126998, 65240, 60928, 126720]), payload: payload(random) };
    return [bam(session), ...packets(session)];
  },
  addressed: (random, init) => {
    const session = { ...init, inner: random.pick([126208, 126998]), payload: payload(random) };
    const cts = control("cts", { ...session, src: init.dst ?? 0, dst: init.src ?? 0 });
    return [rts(session), cts, ...packets(session)];
  },
  abort: (random, init) => [control("abort", { ...init, inner: random.pick([126208, 126998]) })],
  strayControl: (random, init) => [canFrame({ ...init, pgn: 60416, data: random.bytes(random.int(9)) })],
  strayData: (random, init) => [canFrame({ ...init, pgn: 60160, data: random.bytes(random.int(9)) })],
};

function payload(random: Random): Uint8Array {
  return random.bytes(random.chance(0.1) ? random.between(1, 1785) : random.between(1, 60));
}

/** A fragment whose counters have no relation to any other. */
function fragment(random: Random, init: FrameInit): CanFrame {
  const data = random.bytes(random.chance(0.9) ? 8 : random.int(9));
  if (random.chance(0.8)) data[0] = (random.int(8) << 5) | random.int(4);
  if (random.chance(0.5)) data[1] = random.between(1, 30);
  return canFrame({ ...init, pgn: random.pick(FAST_PGNS), data });
}

/**
 * Frames of many happenings, mixed: some lost, some doubled, those of one happening mostly in order. Times are whole
 * ticks of 50 ms, at which the assembler looks for what is stale.
 */
export function harmedTraffic(random: Random, happenings: number): CanFrame[] {
  const frames: CanFrame[] = [];
  let open: CanFrame[][] = [];
  let tick = 0;
  for (let i = 0; i < happenings || open.length > 0;) {
    if (i < happenings && (open.length === 0 || random.chance(0.3))) {
      const init = { src: random.pick(SOURCES), dst: random.pick(SOURCES), prio: random.int(8) };
      const kind = KINDS[random.pick(Object.keys(KINDS))]!;
      open.push(kind(random, init).filter(() => !random.chance(0.02)));
      i++;
    }
    if (random.chance(0.05)) tick += random.chance(0.1) ? random.int(40) : 1;
    const queue = open.length > 0 ? random.pick(open) : [];
    const frame = random.chance(0.97) ? queue.shift() : queue.pop();
    if (frame) frames.push({ ...frame, monoMs: tick * 50 });
    if (frame && random.chance(0.01)) frames.push({ ...frame, monoMs: tick * 50 });
    open = open.filter((each) => each.length > 0);
  }
  return frames;
}
