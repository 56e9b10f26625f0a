import { change, type Fault, GPS, of, READING, STRANGER } from "./fault.ts";
import { framesOf } from "./lab.ts";
import { type Identities, networkFaults } from "./network_faults.ts";
import { PAIR_FAULTS, type PairFault, rateFaults, valueFaults } from "./value_faults.ts";

const busFaults: readonly Fault[] = [
  {
    claim: "a bus that is full",
    kind: "bus_load",
    also: ["rate_high", "never_claims"],
    more: [{
      everyMs: 0.8,
      frames: (nowMs) => framesOf({ atMs: nowMs, pgn: 61184, src: STRANGER, dst: 3, data: new Uint8Array(8) }),
    }],
  },
  {
    claim: "a controller that is error-passive",
    kind: "bus_errors",
    reading: () => ({ ...READING, controller: "error-passive" }),
  },
  { claim: "a controller that is bus-off", kind: "bus_errors", reading: () => ({ ...READING, controller: "bus-off" }) },
  {
    claim: "frames that nobody acknowledges",
    kind: "error_frames",
    reading: (ms) => ({ ...READING, errors: { no_acknowledge: ms / 500, bus_error: 0, overflow: 0, other: 0 } }),
  },
  {
    claim: "frames that are damaged on the wire",
    kind: "error_frames",
    reading: (ms) => ({ ...READING, errors: { no_acknowledge: 0, bus_error: ms / 1000, overflow: 0, other: 0 } }),
  },
  {
    claim: "a device whose fast packets lose frames",
    kind: "incomplete_fast_packet",
    src: GPS,
    change: (() => {
      let count = 0;
      return change(
        (frame) => of(GPS, 129029)(frame) || of(GPS, 129540)(frame),
        (frame) => ++count % 9 === 0 ? [] : [frame],
      );
    })(),
  },
];

/** Faults that concern many devices, of which none is to blame. */
const commonFaults: readonly Fault[] = [
  {
    claim: "a gateway that loses two of three frames",
    kind: "rate_low",
    also: ["incomplete_fast_packet"],
    change: (() => {
      let count = 0;
      return change(() => true, (frame) => ++count % 3 === 0 ? [frame] : []);
    })(),
  },
  {
    claim: "a bridge that repeats all frames",
    kind: "rate_high",
    also: ["incomplete_fast_packet"],
    change: change(() => true, (frame) => [frame, { ...frame, atMs: frame.atMs + 0.4 }]),
  },
];

/** All faults. */
export function faultsOf(boat: Identities): (Fault | PairFault)[] {
  return [...busFaults, ...commonFaults, ...networkFaults(boat), ...rateFaults, ...valueFaults, ...PAIR_FAULTS];
}
