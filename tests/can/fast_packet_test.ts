import assert from "node:assert/strict";
import { fastPacketFrames, splitFastPacket } from "../../src/can/mod.ts";
import { collector, fast, pushAll } from "../support/fragments.ts";
import { formatHex } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";
import type { ControllerState } from "../../src/can/bus.ts";
import { controllerAfter } from "../../src/can/socketcan/error_frame.ts";

Deno.test("a fast packet takes one frame up to 6 bytes and one more for each 7", () => {
  assert.deepEqual([1, 6, 7, 13, 14, 20, 21, 216, 217, 223].map(fastPacketFrames), [1, 1, 2, 2, 3, 3, 4, 31, 32, 32]);
});

Deno.test("a split fast packet is what a device sends: counter, length, payload, padding", () => {
  const payload = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
  assert.deepEqual(splitFastPacket(payload, 5).map((frame) => formatHex(frame)), [
    "a010010203040506",
    "a10708090a0b0c0d",
    "a20e0f10ffffffff",
  ]);
  assert.deepEqual(splitFastPacket(Uint8Array.of(9), 0).map((frame) => formatHex(frame)), ["000109ffffffffff"]);
});

Deno.test("the sequence counter is cut to its three bits", () => {
  assert.equal(splitFastPacket(Uint8Array.of(1), 8)[0]![0], 0);
  assert.equal(splitFastPacket(Uint8Array.of(1), 15)[0]![0], 0xe0);
});

Deno.test("a payload that no fast packet can carry is refused", () => {
  for (const length of [0, 224, 1785]) {
    assert.throws(() => splitFastPacket(new Uint8Array(length), 0), (error: unknown) => {
      return error instanceof RangeError && error.message.includes(String(length));
    });
  }
});

Deno.test("splitting and assembling gives back every length with every sequence counter", () => {
  const random = new Random(223);
  const { assembler, out } = collector();
  for (let length = 1; length <= 223; length++) {
    for (let sequence = 0; sequence < 8; sequence++) {
      const payload = random.bytes(length);
      const frames = fast(payload, {
        sequence,
        src: random.int(254),
        pgn: random.pick([126720, 126996, 129029, 130820]),
      });
      assert.equal(frames.length, fastPacketFrames(length));
      pushAll(assembler, frames);
      assert.equal(out.pop()?.data, formatHex(payload));
      assert.equal(out.length, 0);
    }
  }
  assert.equal(assembler.pending, 0);
  assert.ok(Object.values(assembler.drops).every((count) => count === 0));
});

const STATES: ControllerState[] = ["error-active", "error-warning", "error-passive", "bus-off"];

/** Classes and data byte 1 as drivers send them (linux drivers/net/can/dev/dev.c: can_change_state), and the state after. */
const CASES: [string, { classes: number; controller: number }, ControllerState][] = [
  ["bus-off", { classes: 0x20000040, controller: 0 }, "bus-off"],
  ["bus-off with counters", { classes: 0x20000240, controller: 0 }, "bus-off"],
  ["bus-off together with passive", { classes: 0x20000044, controller: 0x30 }, "bus-off"],
  ["restart", { classes: 0x20000100, controller: 0 }, "error-active"],
  ["restart that says warning", { classes: 0x20000104, controller: 0x08 }, "error-warning"],
  ["warning of reception", { classes: 0x20000004, controller: 0x04 }, "error-warning"],
  ["warning of transmission", { classes: 0x20000204, controller: 0x08 }, "error-warning"],
  ["passive in reception", { classes: 0x20000004, controller: 0x10 }, "error-passive"],
  ["passive in transmission", { classes: 0x20000004, controller: 0x20 }, "error-passive"],
  ["passive and warning", { classes: 0x20000004, controller: 0x28 }, "error-passive"],
  ["active again", { classes: 0x20000004, controller: 0x40 }, "error-active"],
  ["classes without the flag", { classes: 0x40, controller: 0 }, "bus-off"],
];

for (const [what, frame, expected] of CASES) {
  Deno.test(`an error frame "${what}" leads to ${expected} from every state`, () => {
    for (const state of STATES) assert.equal(controllerAfter(state, frame), expected);
  });
}

Deno.test("error frames of other kinds change nothing", () => {
  const kinds = [0x001, 0x002, 0x008, 0x010, 0x020, 0x080, 0x200, 0x000];
  for (const state of STATES) {
    for (const kind of kinds) {
      assert.equal(controllerAfter(state, { classes: 0x20000000 | kind, controller: 0xff }), state);
    }
  }
});

Deno.test("an overflow of the controller changes nothing", () => {
  for (const state of STATES) {
    assert.equal(controllerAfter(state, { classes: 0x20000004, controller: 0x03 }), state);
    assert.equal(controllerAfter(state, { classes: 0x20000004, controller: 0x00 }), state);
  }
});
