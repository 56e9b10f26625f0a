import {
  BAROMETER,
  change,
  COMPASS,
  type Fault,
  frozen,
  GPS,
  number,
  of,
  SECOND,
  STRANGER,
  TRANSDUCER,
  WIND,
  withFields,
} from "./fault.ts";
import { type LabFrame, withSource } from "./lab.ts";

/** Rates. */
export const rateFaults: readonly Fault[] = [
  {
    claim: "a PGN that comes four times as often as this device sends it",
    kind: "rate_high",
    src: BAROMETER,
    change: change(of(BAROMETER, 130311), (frame) => [0, 1, 2, 3].map((i) => ({ ...frame, atMs: frame.atMs + i }))),
  },
  {
    claim: "a PGN that comes a quarter as often as this device sends it",
    kind: "rate_low",
    src: COMPASS,
    change: (() => {
      let count = 0;
      return change(of(COMPASS, 127250), (frame) => ++count % 4 === 0 ? [frame] : []);
    })(),
  },
];

/** Values that are stuck, impossible, or jump. */
export const valueFaults: readonly Fault[] = [
  { claim: "a position that is stuck", kind: "stuck_value", src: GPS, change: frozenPosition() },
  { claim: "a heading that is stuck", kind: "stuck_value", src: COMPASS, change: frozen(of(COMPASS, 127250)) },
  { claim: "a depth that is stuck", kind: "stuck_value", src: TRANSDUCER, change: frozen(of(TRANSDUCER, 128267)) },
  {
    claim: "a wind vane that is stuck",
    kind: "stuck_value",
    src: WIND,
    change: change(
      of(WIND, 130306),
      (frame) => [withFields(frame, ({ wind_reference }) => wind_reference === "apparent" ? { wind_angle: 1 } : {})],
    ),
  },
  {
    claim: "a paddle wheel that is blocked",
    kind: "stuck_value",
    src: TRANSDUCER,
    change: change(of(TRANSDUCER, 128259), (frame) => [withFields(frame, () => ({ speed_water: 0 }))]),
  },
  {
    claim: "a sea as hot as soup",
    kind: "impossible_value",
    src: TRANSDUCER,
    change: change(of(TRANSDUCER, 130310), (frame) => [withFields(frame, () => ({ water_temperature: 360 }))]),
  },
  {
    claim: "a position at 0, 0",
    kind: "impossible_value",
    src: GPS,
    also: ["value_jumps", "stuck_value", "sources_disagree"],
    change: change(of(GPS, 129025), (frame) => [{ ...frame, data: new Uint8Array(8) }]),
  },
  {
    claim: "a position that jumps",
    kind: "value_jumps",
    src: GPS,
    change: change(of(GPS, 129025), (frame, sinceMs) => [
      sinceMs % (10 * SECOND) < 3 * SECOND
        ? withFields(frame, ({ latitude }) => ({ latitude: number(latitude) + 0.02 }))
        : frame,
    ]),
  },
  {
    claim: "a heading that jumps",
    kind: "value_jumps",
    src: COMPASS,
    change: change(of(COMPASS, 127250), (frame, sinceMs) => [
      sinceMs % (6 * SECOND) < 3 * SECOND
        ? withFields(frame, ({ heading }) => ({ heading: (number(heading) + 2) % (2 * Math.PI) }))
        : frame,
    ]),
  },
];

/** A healthy second source from the beginning, which goes wrong when the fault begins. */
export interface PairFault extends Fault {
  /** Frames of the second source, before and during the fault. */
  second: (frame: LabFrame) => LabFrame[];
}

const pairOf = (matches: (frame: LabFrame) => boolean) => (frame: LabFrame) =>
  matches(frame) ? [{ ...withSource(frame, STRANGER), atMs: frame.atMs + 0.3 }] : [];

/** Two devices with one quantity, of which one is wrong from the beginning of the fault on. */
export const PAIR_FAULTS: readonly PairFault[] = [
  {
    claim: "a compass that disagrees with another",
    kind: "sources_disagree",
    src: STRANGER,
    second: pairOf(of(COMPASS, 127250)),
    change: change(
      of(STRANGER, 127250),
      (frame) => [withFields(frame, ({ heading }) => ({ heading: (number(heading) + 0.6) % (2 * Math.PI) }))],
    ),
  },
  {
    claim: "a receiver whose position disagrees with another's",
    kind: "sources_disagree",
    src: STRANGER,
    second: pairOf(of(GPS, 129025)),
    change: change(
      of(STRANGER, 129025),
      (frame) => [withFields(frame, ({ latitude }) => ({ latitude: number(latitude) + 0.005 }))],
    ),
  },
  {
    claim: "a depth that disagrees with another",
    kind: "sources_disagree",
    src: STRANGER,
    second: pairOf(of(TRANSDUCER, 128267)),
    change: change(of(STRANGER, 128267), (frame) => [withFields(frame, ({ depth }) => ({ depth: number(depth) * 3 }))]),
  },
  {
    claim: "a wind speed that disagrees with another",
    kind: "sources_disagree",
    src: STRANGER,
    second: pairOf(of(WIND, 130306)),
    change: change(
      of(STRANGER, 130306),
      (frame) => [withFields(frame, ({ wind_speed }) => ({ wind_speed: number(wind_speed) * 3 + 6 }))],
    ),
  },
  {
    claim: "a clock that disagrees with another",
    kind: "clocks_disagree",
    src: STRANGER,
    second: pairOf(of(GPS, 126992)),
    change: change(
      of(STRANGER, 126992),
      (frame) => [withFields(frame, ({ seconds_today }) => ({ seconds_today: number(seconds_today) - 60 }))],
    ),
  },
];

function frozenPosition() {
  let [rapid, fix]: (Uint8Array | undefined)[] = [];
  return (frame: LabFrame): LabFrame[] => {
    if (of(GPS, 129025)(frame)) return [{ ...frame, data: rapid ??= frame.data }];
    // The fix has its position in frames of a fast packet: such a receiver sends none.
    if (of(GPS, 129029)(frame)) return fix === undefined ? [] : [frame];
    return [frame];
  };
}
