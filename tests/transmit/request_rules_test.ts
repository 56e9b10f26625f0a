import assert from "node:assert/strict";
import { type DeviceMatch, matchesDevice, type RequestTarget } from "../../src/transmit/mod.ts";

const GARMIN = 229;
const PLOTTER: RequestTarget = {
  bus: 1,
  src: 9,
  name: 0xc0a1n,
  fields: { manufacturerCode: GARMIN, deviceClass: 60, deviceFunction: 145 },
  product: { modelId: "GPSMAP 8612" },
};

/** [what, match, whether it is for the plotter] */
const MATCHES: [what: string, match: DeviceMatch, expected: boolean][] = [
  ["nothing asked", {}, true],
  ["its manufacturer", { manufacturers: [1, GARMIN] }, true],
  ["another manufacturer", { manufacturers: [1] }, false],
  ["its model in another case", { models: ["x", "gpsMap 8612"] }, true],
  ["the beginning of its model", { models: ["GPSmap*"] }, true],
  ["any model", { models: ["*"] }, true],
  ["the beginning of its model without a star", { models: ["gpsmap"] }, false],
  ["more than its model", { models: ["GPSMAP 8612 xsv*"] }, false],
  ["its class", { classes: [60] }, true],
  ["another class", { classes: [61] }, false],
  ["its function", { functions: [145] }, true],
  ["another function", { functions: [0] }, false],
  ["its NAME", { names: [0xc0a1n] }, true],
  ["another NAME", { names: [0xc0a2n] }, false],
  ["its address", { sources: [9] }, true],
  ["another address", { sources: [0] }, false],
  ["its bus", { buses: ["can0", "can1"] }, true],
  ["another bus", { buses: ["can0"] }, false],
  ["all but one", { manufacturers: [GARMIN], classes: [60], functions: [145], sources: [10] }, false],
];

for (const [what, match, expected] of MATCHES) {
  Deno.test(`a rule with ${what} is ${expected ? "" : "not "}for a device`, () => {
    assert.equal(matchesDevice(match, { device: PLOTTER, bus: "can1" }), expected);
  });

  Deno.test(`a rule with ${what} is not for a device that has told nothing, unless it needs nothing told`, () => {
    const stranger = { bus: 1, src: 9, name: undefined, fields: undefined, product: undefined };
    const needsNothing = Object.keys(match).every((key) => key === "sources" || key === "buses");
    assert.equal(matchesDevice(match, { device: stranger, bus: "can1" }), needsNothing && expected);
  });
}
