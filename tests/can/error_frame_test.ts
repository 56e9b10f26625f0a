import assert from "node:assert/strict";
import { newCounters } from "../../src/can/bus.ts";
import { countErrorFrame } from "../../src/can/socketcan/error_frame.ts";

/** Identifiers and data byte 1 of error frames as linux/can/error.h defines them, and the kind as which they count. */
const VECTORS: readonly (readonly [text: string, classes: number, controller: number, kind: string])[] = [
  ["no acknowledge", 0x20000020, 0, "no_acknowledge"],
  ["no acknowledge, with a bus error", 0x200000a8, 0, "no_acknowledge"],
  ["violation of the protocol", 0x20000008, 0, "bus_error"],
  ["bus error", 0x20000080, 0, "bus_error"],
  ["receive buffer full", 0x20000004, 0x01, "overflow"],
  ["transceiver", 0x20000010, 0, "other"],
  ["not sent in time", 0x20000001, 0, "other"],
  ["lost arbitration", 0x20000002, 0, "none"],
  ["error-passive", 0x20000004, 0x10, "none"],
  ["bus-off", 0x20000040, 0, "none"],
  ["restarted", 0x20000100, 0, "none"],
];

Deno.test("error frames are counted by kind; changes of state and lost arbitration are no faults", () => {
  for (const [text, classes, controller, kind] of VECTORS) {
    const counters = newCounters();
    countErrorFrame(counters, { classes, controller });
    assert.equal(counters.errorFrames, 1, text);
    const counted = Object.entries(counters.errors).filter(([, count]) => count > 0).map(([name]) => name);
    assert.deepEqual(counted, kind === "none" ? [] : [kind], text);
  }
});
