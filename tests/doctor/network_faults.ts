import { buildName, parseName } from "../../src/frame/mod.ts";
import {
  also,
  BATTERY,
  change,
  claim,
  COMPASS,
  ENGINE,
  type Fault,
  GPS,
  nak,
  type Names,
  number,
  of,
  type Products,
  request,
  rudder,
  SECOND,
  STRANGE_NAME,
  STRANGER,
  TANKS,
  TRANSDUCER,
  WIND,
  withFields,
} from "./fault.ts";
import { framesOf, withSource } from "./lab.ts";

const requestFaults: readonly Fault[] = [
  {
    claim: "a device that does not answer requests",
    kind: "request_unanswered",
    src: WIND,
    more: [{ everyMs: 8 * SECOND, frames: (nowMs) => request(nowMs, { src: TANKS, dst: WIND, pgn: 126996 }) }],
  },
  {
    claim: "a device that asks again and again for what it does not get",
    kind: "request_refused",
    src: TANKS,
    more: [{
      everyMs: 5 * SECOND,
      frames: (nowMs) => [
        ...request(nowMs, { src: TANKS, dst: WIND, pgn: 127505 }),
        ...nak(nowMs + 3, { src: WIND, dst: TANKS, pgn: 127505 }),
      ],
    }],
  },
  {
    claim: "a device that never claims",
    kind: "never_claims",
    src: STRANGER,
    more: [
      { everyMs: 100, frames: (nowMs) => rudder(nowMs, STRANGER) },
      { everyMs: 10 * SECOND, frames: (nowMs) => request(nowMs, { src: 254, dst: STRANGER, pgn: 60928 }) },
    ],
  },
];

/** Conflicts about addresses and NAMEs. */
function addressFaults(names: Names): Fault[] {
  const gpsName = names.get(GPS) ?? 0n;
  const compassName = names.get(COMPASS) ?? 0n;
  const lower = gpsName - 1n;
  return [
    {
      claim: "two devices that claim one address again and again",
      kind: "address_conflict",
      src: GPS,
      more: [{
        everyMs: 4 * SECOND,
        frames: (nowMs) => [...claim(nowMs, GPS, lower), ...claim(nowMs + 5, GPS, gpsName)],
      }],
      also: ["loser_keeps_sending"],
    },
    {
      claim: "a device that loses its address and keeps sending",
      kind: "loser_keeps_sending",
      src: GPS,
      more: [{ everyMs: 1e9, frames: (nowMs) => claim(nowMs, GPS, lower) }],
    },
    {
      claim: "a newcomer that loses an address and sends all the same",
      kind: "loser_keeps_sending",
      src: COMPASS,
      more: [
        {
          everyMs: 1e9,
          frames: (nowMs) => [...claim(nowMs, COMPASS, compassName + 1n), ...claim(nowMs + 4, COMPASS, compassName)],
        },
        { everyMs: 100, frames: (nowMs) => rudder(nowMs, COMPASS) },
      ],
    },
    {
      claim: "two devices with one NAME",
      kind: "duplicate_name",
      src: STRANGER,
      more: [
        {
          everyMs: 20 * SECOND,
          frames: (nowMs, round) => claim(nowMs, round % 2 === 0 ? STRANGER : COMPASS, compassName),
        },
        { everyMs: 100, frames: (nowMs) => rudder(nowMs, STRANGER) },
      ],
    },
    {
      claim: "a sender that uses the address of another",
      kind: "address_shared",
      src: COMPASS,
      change: also(of(COMPASS), (frame) => ({ ...frame, atMs: frame.atMs + 0.4 })),
    },
    {
      claim: "a device that changes its address again and again",
      kind: "address_unstable",
      src: 103,
      more: [
        { everyMs: 10 * SECOND, frames: (nowMs, round) => claim(nowMs, 100 + Math.min(round, 3), STRANGE_NAME) },
        { everyMs: 500, frames: (nowMs, round) => rudder(nowMs, 100 + Math.min(3, Math.floor(round / 20))) },
      ],
    },
  ];
}

/** Instances that exist twice. */
function instanceFaults({ names, products }: Identities): Fault[] {
  const twin = buildName({ ...parseName(names.get(WIND) ?? 0n), uniqueNumber: 640_099 });
  return [
    {
      claim: "two batteries with one instance",
      kind: "duplicate_data_instance",
      src: STRANGER,
      change: also(of(BATTERY, 127508), (frame) => withSource(frame, STRANGER)),
    },
    {
      claim: "two engines with one instance",
      kind: "duplicate_data_instance",
      src: STRANGER,
      change: also(of(ENGINE, 127488), (frame) => withSource(frame, STRANGER)),
    },
    {
      claim: "two wind sensors that displays cannot tell apart",
      kind: "duplicate_device_instance",
      src: STRANGER,
      change: also(of(WIND, 130306), (frame) => withSource(frame, STRANGER)),
      more: [{
        everyMs: 1e9,
        frames: (nowMs) => [
          ...claim(nowMs, STRANGER, twin),
          ...framesOf({ atMs: nowMs + 1, pgn: 126996, src: STRANGER, data: products.get(WIND) ?? new Uint8Array() }),
        ],
      }],
    },
  ];
}

/** Devices that change, are missing or start again. */
function deviceFaults({ names, products }: Identities): Fault[] {
  const compassName = names.get(COMPASS) ?? 0n;
  return [
    {
      claim: "a device that says that it is another product",
      kind: "product_changed",
      src: COMPASS,
      more: [{
        everyMs: 1e9,
        frames: (nowMs) =>
          framesOf({ atMs: nowMs, pgn: 126996, src: COMPASS, data: products.get(TRANSDUCER) ?? new Uint8Array() }),
      }],
    },
    {
      claim: "a device with other software than before",
      kind: "firmware_changed",
      src: COMPASS,
      more: [{
        everyMs: 1e9,
        frames: (nowMs) => {
          const data = (products.get(COMPASS) ?? new Uint8Array()).slice();
          data[36] = "9".charCodeAt(0);
          return framesOf({ atMs: nowMs, pgn: 126996, src: COMPASS, data });
        },
      }],
    },
    {
      claim: "a device that is gone",
      kind: "missing_device",
      src: TRANSDUCER,
      change: change(of(TRANSDUCER), () => []),
    },
    {
      claim: "a device that starts again and again",
      kind: "device_reset",
      src: COMPASS,
      change: change(of(COMPASS), (frame, sinceMs) => sinceMs % (20 * SECOND) < 4 * SECOND ? [] : [frame]),
      more: [{ everyMs: 20 * SECOND, frames: (nowMs) => claim(nowMs + 3990, COMPASS, compassName) }],
    },
    {
      claim: "a device that starts again when the voltage dips",
      kind: "voltage_dip",
      src: WIND,
      also: ["device_reset"],
      change: (frame, sinceMs) => {
        const isOff = sinceMs % (20 * SECOND) < 4 * SECOND;
        if (of(WIND)(frame)) return isOff ? [] : [frame];
        if (!of(BATTERY, 127508)(frame) || !isOff) return [frame];
        return [withFields(frame, ({ voltage }) => ({ voltage: number(voltage) - 3 }))];
      },
      more: [{ everyMs: 20 * SECOND, frames: (nowMs) => claim(nowMs + 3990, WIND, names.get(WIND) ?? 0n) }],
    },
  ];
}

/** What devices say who they are. */
export interface Identities {
  names: Names;
  products: Products;
}

/** Faults of the network: requests, addresses, instances, devices. */
export function networkFaults(boat: Identities): Fault[] {
  return [...requestFaults, ...addressFaults(boat.names), ...instanceFaults(boat), ...deviceFaults(boat)];
}
