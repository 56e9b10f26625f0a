import assert from "node:assert/strict";
import type { ControllerState } from "../../src/can/bus.ts";
import { controllerAfter } from "../../src/can/socketcan/error_frame.ts";

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
