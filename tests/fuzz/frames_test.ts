import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { Assembler } from "../../src/can/mod.ts";
import { type CanFrame, destinationOfId, formatHex, type Message, pgnOfId } from "../../src/frame/mod.ts";
import { framingOf } from "../../src/pgn/mod.ts";
import { NaiveAssembler } from "../support/naive_assembler.ts";
import { IS_FULL } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { harmedTraffic } from "../support/traffic.ts";

const SEEDS = Array.from({ length: IS_FULL ? 25 : 8 }, (_, seed) => seed);
const HAPPENINGS = 1500;
/** Longer than any session or fragment waits. */
const LONG_MS = 5000;
const CONTROL_PGN = 60416;
const DATA_PGN = 60160;

/** The frames of a seed, without the PGN whose framing must be guessed from its bytes. */
function trafficOf(seed: number): CanFrame[] {
  return harmedTraffic(new Random(seed), HAPPENINGS).filter(({ id }) => framingOf(pgnOfId(id)) !== "either");
}

/** Whether a connection management frame begins a session, by the standard's words. */
function announces({ id, data, offset, length }: CanFrame): "yes" | "no" | "malformed" {
  const [kind, low, high, packets] = data.subarray(offset, offset + length);
  if (length < 8) return "malformed";
  if (kind === 17 || kind === 19 || kind === 255) return "no";
  const bytes = low! + 256 * high!;
  const toAll = destinationOfId(id) === 255;
  const fits = bytes >= 1 && bytes <= 1785 && packets! * 7 >= bytes && packets! * 7 - bytes < 7;
  return fits && ((kind === 32 && toAll) || (kind === 16 && !toAll)) ? "yes" : "malformed";
}

/** An assembler and what an observer counts beside it. */
class Observed {
  readonly naive: NaiveAssembler;
  readonly assembler: Assembler;
  readonly seen = { single: 0, announced: 0, malformedControl: 0, dataPackets: 0 };
  readonly out = { single: 0, fast: 0, sessions: 0 };
  #way: keyof Observed["out"] = "single";
  #expected: string | undefined;

  constructor(maxAssemblies: number) {
    this.naive = new NaiveAssembler(maxAssemblies);
    this.assembler = new Assembler((message) => this.#emitted(message), { maxAssemblies });
  }

  push(frame: CanFrame): void {
    this.naive.expire(frame.monoMs);
    const pgn = pgnOfId(frame.id);
    this.#expected = undefined;
    if (framingOf(pgn) === "fast") {
      this.#way = "fast";
      const whole = this.naive.push(frame);
      if (whole) this.#expected = `${whole.id} ${formatHex(Uint8Array.from(whole.data))}`;
    } else if (pgn === CONTROL_PGN || pgn === DATA_PGN) {
      this.#way = "sessions";
      const announcing = pgn === CONTROL_PGN ? announces(frame) : "no";
      if (announcing === "yes") this.seen.announced++;
      if (announcing === "malformed") this.seen.malformedControl++;
      if (pgn === DATA_PGN) this.seen.dataPackets++;
    } else {
      this.#way = "single";
      this.seen.single++;
    }
    this.assembler.push(frame);
    if (this.#way === "fast") assert.equal(this.#expected, undefined, "a whole message was not emitted");
  }

  /** Everything that went in came out or is counted, exactly. */
  checkBooks(): void {
    const { assembler, naive, seen, out } = this;
    const { drops } = assembler;
    const { begun, completed, timeout, replaced, overflow, malformed, unexpected } = naive.counts;
    assert.equal(out.single, seen.single);
    assert.equal(out.fast, completed);
    assert.deepEqual([drops.timeout, drops.replaced, drops.unexpected], [timeout, replaced, unexpected]);
    assert.equal(drops.malformed, malformed + seen.malformedControl);
    const sessionsPending = assembler.pending - naive.pending;
    const sessionOverflow = drops.overflow - overflow;
    assert.ok(sessionsPending >= 0 && sessionOverflow >= 0);
    assert.equal(begun, out.fast + drops.timeout + drops.replaced + overflow + naive.pending);
    assert.equal(
      seen.announced,
      out.sessions + drops.tp_timeout + drops.tp_aborted + sessionOverflow + sessionsPending,
    );
    const { fed, emitted, lost } = naive.fragments;
    assert.equal(fed, emitted + lost + malformed + unexpected + naive.pendingFragments);
    assert.ok(drops.tp_unexpected <= seen.dataPackets);
  }

  #emitted({ id, data, offset: start, length }: Message): void {
    this.out[this.#way]++;
    if (this.#way !== "fast") return;
    assert.equal(`${id} ${formatHex(data, { start, length })}`, this.#expected);
    this.#expected = undefined;
  }
}

Deno.test("whatever a bus brings, every fragment and session is in a message or counted as dropped", () => {
  let sessions = 0;
  let fastPackets = 0;
  for (const seed of SEEDS) {
    const observed = new Observed(seed % 2 === 0 ? 4096 : 6);
    const frames = trafficOf(seed);
    for (const [i, frame] of frames.entries()) {
      observed.push(frame);
      if (i % 500 === 0) observed.checkBooks();
    }
    observed.checkBooks();
    observed.naive.expire(frames.at(-1)!.monoMs + LONG_MS);
    observed.assembler.expire(frames.at(-1)!.monoMs + LONG_MS);
    assert.equal(observed.assembler.pending, 0);
    observed.checkBooks();
    sessions += observed.out.sessions;
    fastPackets += observed.out.fast;
  }
  assert.ok(sessions > 200 && fastPackets > 200, `too tame: ${sessions} sessions, ${fastPackets} fast packets`);
});

Deno.test("the traffic of the fuzz test brings about every kind of drop", () => {
  const sums = new Map<string, number>();
  for (const seed of SEEDS) {
    const assembler = new Assembler(() => {}, { maxAssemblies: seed % 2 === 0 ? 4096 : 6 });
    for (const frame of trafficOf(seed)) assembler.push(frame);
    for (const [why, count] of Object.entries(assembler.drops)) sums.set(why, (sums.get(why) ?? 0) + count);
  }
  for (const [why, count] of sums) assert.ok(count > 5, `${why}: ${count}`);
});

Deno.test("whatever buses bring, broker, registry and values stay bounded and consistent", () => {
  for (const seed of SEEDS) {
    const broker = new Broker({ buses: ["can0", "can1"], ringFrames: 256, maxValues: 300 });
    const subscription = broker.subscribe({ capacity: 16 });
    let emitted = 0;
    const assemblers = [0, 1].map((bus) => {
      return new Assembler((message) => assert.equal(broker.publish(message), ++emitted), { bus });
    });
    const traffic = trafficOf(seed);
    for (const [i, frame] of traffic.entries()) {
      assemblers[i % 2]!.push(frame);
      if (i % 300 === 0) checkBroker(broker, { emitted, nowMs: frame.monoMs });
    }
    checkBroker(broker, { emitted, nowMs: traffic.at(-1)!.monoMs });
    assert.equal(subscription.waiting + subscription.droppedTotal, emitted);
    broker.registry.expire(traffic.at(-1)!.monoMs + LONG_MS, 1);
    assert.deepEqual([broker.registry.size, broker.values.size], [0, 0]);
  }
});

function checkBroker(broker: Broker, { emitted, nowMs }: { emitted: number; nowMs: number }): void {
  const { registry, values, ring } = broker;
  assert.deepEqual([broker.head, broker.published], [emitted, emitted]);
  const entries = [...registry];
  assert.equal(entries.length, registry.size);
  assert.equal(registry.counters.added - registry.counters.removed, registry.size);
  assert.ok(entries.every(({ src, bus }) => src <= 253 && bus <= 1));
  const names = entries.filter(({ name }) => name !== undefined).map(({ bus, name }) => `${bus} ${name}`);
  assert.equal(new Set(names).size, names.length, "one NAME at two addresses of a bus");
  assert.ok(!names.some((text) => text.endsWith(" 0")));
  assert.ok(values.size <= 300);
  for (let seq = ring.oldest; seq <= ring.head; seq += 7) assert.equal(JSON.parse(broker.json.of(seq)!).seq, seq);
  registry.expire(nowMs, 3000);
}
