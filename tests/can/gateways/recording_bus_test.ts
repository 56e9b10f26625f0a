import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type CanBus, createBus } from "../../../src/can/mod.ts";
import { RecordingBus } from "../../../src/can/gateways/recording_bus.ts";
import { inFolder } from "../../support/folder.ts";
import { GatewaySink, itemsOfRecording, messagesOfRecording } from "../../support/gateway_sink.ts";
import { needs } from "../../support/needs.ts";
import { sampleBytes, SAMPLES } from "../../support/recordings.ts";
import { until } from "../../contract/recorder.ts";

const READ = needs({ permissions: ["read"] });
const WRITE = needs({ permissions: ["read", "write"] });

const pathOf = (file: string) => fileURLToPath(new URL(`../../data/${file}`, import.meta.url));

async function opened(source: string): Promise<{ bus: CanBus; sink: GatewaySink }> {
  const bus = await createBus(source);
  const sink = new GatewaySink();
  await bus.open(sink);
  return { bus, sink };
}

const hasEnded = ({ state }: CanBus) => state.type === "down" && state.message === "the recording has ended";

Deno.test("a recording as a bus gives its frames and messages, one by one, and is down then", READ, async () => {
  for (const { file, format } of SAMPLES) {
    const { bus, sink } = await opened(`${pathOf(file)}?speed=0`);
    await until("it has ended", () => hasEnded(bus));
    await bus.close();
    assert.deepEqual(sink.heard, await itemsOfRecording(sampleBytes(file), format), file);
    assert.deepEqual(sink.stateNames, ["error-active", "down", "closed"]);
    assert.equal(bus.counters.received, sink.heard.length);
  }
});

Deno.test(
  "at full speed a recording's messages are whole, though the process stands still in between",
  READ,
  async () => {
    for (const { file, format } of SAMPLES) {
      // Now and then the process stands still for longer than a message may take.
      let [nowMs, looks] = [0, 0];
      const clock = { monoMs: () => nowMs += ++looks % 40 === 0 ? 1000 : 0, wallUs: () => nowMs * 1000 };
      const bus = new RecordingBus("tape", { path: pathOf(file), speed: 0, clock });
      const sink = new GatewaySink();
      await bus.open(sink);
      await until("it has ended", () => hasEnded(bus));
      await bus.close();
      sink.finish();
      assert.deepEqual(sink.messages, await messagesOfRecording(sampleBytes(file), format), file);
    }
  },
);

Deno.test("in its own time a recording's frames lie as far apart as they were recorded", READ, async () => {
  const file = "ydwg_merrimac_head.txt";
  const { bus, sink } = await opened(`file://${pathOf(file)}?name=log0`);
  assert.equal(bus.name, "log0");
  await until("it has ended", () => hasEnded(bus));
  await bus.close();
  sink.finish();
  assert.deepEqual(sink.messages, await messagesOfRecording(sampleBytes(file), "ydwg"));
  const [first, last] = [sink.frames[0], sink.frames.at(-1)];
  assert.equal(Math.round(last!.monoMs - first!.monoMs), 558);
  assert.ok(first!.timeUs > Date.now() * 1000 - 60e6);
});

Deno.test("a recording that is closed early ends, and nothing can be sent on it", READ, async () => {
  const { bus, sink } = await opened(`${pathOf("candump_sample3.txt")}?speed=0.001`);
  await until("it has begun", () => sink.frames.length > 0);
  await assert.rejects(bus.send(1, Uint8Array.of(1)), {
    name: "BusError",
    message: 'Cannot send on bus "candump_sample3.txt": it is a recording',
  });
  await bus.close();
  await bus.close();
  assert.equal(sink.stateNames.at(-1), "closed");
  assert.equal(bus.counters.sendFailed, 1);
});

Deno.test(
  "a recording that is not there or none is refused when it is opened",
  WRITE,
  () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/letter.txt`, "Dear all,\n");
      await assert.rejects(opened(`${folder}/nothing.log`), {
        name: "BusError",
        message: /^Cannot open bus "nothing.log": No such file/,
      });
      await assert.rejects(opened(`${folder}/letter.txt`), {
        name: "BusError",
        message:
          'Cannot open bus "letter.txt": The recording has an unknown format; expected candump, ydwg, csv, ebl, ikonvert, n2k-ascii, actisense, mxpgn, pcdin',
      });
    }),
);
