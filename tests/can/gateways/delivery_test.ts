import assert from "node:assert/strict";
import { newCounters, type RecordedItem } from "../../../src/can/mod.ts";
import { BusStatus } from "../../../src/can/bus_status.ts";
import { Delivery } from "../../../src/can/gateways/connection.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { GatewaySink } from "../../support/gateway_sink.ts";
import { Random } from "../../support/random.ts";

function parts(): { clock: FakeClock; sink: GatewaySink; delivery: Delivery } {
  const [clock, status, sink] = [new FakeClock(), new BusStatus(), new GatewaySink()];
  const delivery = new Delivery({ clock, counters: newCounters(), status });
  status.attach(sink);
  status.up();
  delivery.attach(sink);
  delivery.begin();
  return { clock, sink, delivery };
}

/** A frame that the gateway's clock put at so many milliseconds. */
const at = (ms: number): RecordedItem => (
  { kind: "frame", bus: 0, id: 0x09f80102, timeUs: ms * 1000, data: Uint8Array.of(1) }
);

const monoMs = (sink: GatewaySink) => sink.frames.map((frame) => frame.monoMs);

Deno.test("the last frame of a piece came when the piece came, the others as long before as the gateway says", () => {
  const { clock, sink, delivery } = parts();
  clock.advance(1000);
  delivery.piece([at(5000), at(5010), at(5300)]);
  assert.deepEqual(monoMs(sink), [700, 710, 1000]);
  const nowUs = clock.wallUs();
  assert.deepEqual(sink.frames.map(({ timeUs }) => timeUs - nowUs), [-300_000, -290_000, 0]);
});

Deno.test("no frame came before the connection, or before the piece before", () => {
  const { clock, sink, delivery } = parts();
  clock.advance(100);
  delivery.piece([at(0), at(5000)]);
  clock.advance(50);
  delivery.piece([at(5100), at(5190)]);
  assert.deepEqual(monoMs(sink), [0, 100, 100, 150]);
});

Deno.test("a gateway's clock that is set, wrong or without order bends no time", () => {
  const random = new Random(7);
  const { clock, sink, delivery } = parts();
  for (let i = 0; i < 500; i++) {
    clock.advance(random.int(40));
    if (random.chance(0.05)) clock.jump(random.between(-1e6, 1e6));
    const [beforeMs, count] = [clock.monoMs(), sink.frames.length];
    delivery.piece(Array.from({ length: random.between(1, 5) }, () => at(random.int(1e9))));
    assert.equal(sink.frames.at(-1)?.monoMs, beforeMs);
    for (const { timeUs, monoMs } of sink.frames.slice(count)) {
      assert.ok(Math.abs(clock.wallUs() - timeUs - (beforeMs - monoMs) * 1000) <= 1);
    }
  }
  assert.ok(monoMs(sink).every((ms, i, all) => ms >= (all[i - 1] ?? 0)));
});
