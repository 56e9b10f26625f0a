import { buildName, parseCanId } from "../../src/frame/mod.ts";
import type { BusReading, FindingKind } from "../../src/doctor/mod.ts";
import { decode, type DecodedValue, encode } from "../../src/pgn/mod.ts";
import { framesOf, type LabFrame } from "./lab.ts";

/** What a fault does to the frames of the healthy boat. */
export interface Fault {
  claim: string;
  kind: FindingKind;
  /** Source address of the device at fault; undefined: the bus. */
  src?: number;
  /** Kinds that are true of this fault, too. */
  also?: readonly FindingKind[];
  /** Changes a frame, removes it (none), or adds others. Not called before the fault begins. */
  change?: (frame: LabFrame, sinceMs: number) => LabFrame[];
  /** Frames sent besides, by the time since the beginning of the fault. */
  more?: readonly { everyMs: number; frames: (nowMs: number, round: number) => LabFrame[] }[];
  reading?: (sinceMs: number) => BusReading;
}

/** Addresses of the simulated boat. */
export const GPS = 2, COMPASS = 4, WIND = 7, ENGINE = 16, BATTERY = 30, TRANSDUCER = 35, TANKS = 50, BAROMETER = 56;
export const STRANGER = 99;
export const SECOND = 1000;

export const of = (src: number, pgn?: number) => (frame: LabFrame) => {
  const id = parseCanId(frame.id);
  return id.src === src && (pgn === undefined || id.pgn === pgn);
};

/** Changes the frames that match. */
export const change =
  (matches: (frame: LabFrame) => boolean, to: (frame: LabFrame, sinceMs: number) => LabFrame[]) =>
  (frame: LabFrame, sinceMs: number) => matches(frame) ? to(frame, sinceMs) : [frame];

/** Changes fields of a single-frame message. */
export function withFields(
  frame: LabFrame,
  to: (fields: Record<string, DecodedValue>) => Record<string, DecodedValue>,
): LabFrame {
  const { pgn } = parseCanId(frame.id);
  const fields = decode(pgn, frame.data);
  if (!fields) throw new Error(`PGN ${pgn} is not decoded`);
  return { ...frame, data: encode(pgn, { ...fields, ...to(fields) } as Parameters<typeof encode>[1]) };
}

/** The first matching frame of the fault comes again and again. */
export function frozen(matches: (frame: LabFrame) => boolean) {
  let first: Uint8Array | undefined;
  return change(matches, (frame) => [{ ...frame, data: first ??= frame.data }]);
}

export const number = (value: DecodedValue | undefined) => Number(value);

/** A second device that sends the same with other values. */
export const also = (matches: (frame: LabFrame) => boolean, to: (frame: LabFrame, sinceMs: number) => LabFrame) =>
  change(matches, (frame, sinceMs) => [frame, to(frame, sinceMs)]);

/** NAMEs of devices that the simulated boat does not have. */
export const STRANGE_NAME = buildName({
  uniqueNumber: 4711,
  manufacturerCode: 275,
  deviceInstance: 0,
  deviceFunction: 130,
  deviceClass: 60,
  systemInstance: 0,
  industryGroup: 4,
  arbitraryAddressCapable: true,
});

export function nameBytes(name: bigint): Uint8Array {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigUint64(0, name, true);
  return data;
}

export const claim = (nowMs: number, src: number, name: bigint) =>
  framesOf({ atMs: nowMs, pgn: 60928, src, data: nameBytes(name) });
export const rudder = (nowMs: number, src: number) =>
  framesOf({
    atMs: nowMs,
    pgn: 127245,
    src,
    prio: 2,
    data: Uint8Array.of(9, 0xff, 0xff, 0x7f, nowMs / 50 & 0xff, 0, 0xff, 0xff),
  });
const requestOf = (pgn: number) => Uint8Array.of(pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16);
export const request = (nowMs: number, { src, dst, pgn }: { src: number; dst: number; pgn: number }) =>
  framesOf({ atMs: nowMs, pgn: 59904, src, dst, data: requestOf(pgn) });
export const nak = (nowMs: number, { src, dst, pgn }: { src: number; dst: number; pgn: number }) =>
  framesOf({ atMs: nowMs, pgn: 59392, src, dst, data: Uint8Array.of(1, 0xff, 0xff, 0xff, 0xff, ...requestOf(pgn)) });

export const READING: BusReading = {
  controller: "error-active",
  lost: 0,
  errors: { no_acknowledge: 0, bus_error: 0, overflow: 0, other: 0 },
};

/** NAMEs of the simulated boat by address, from its claims. */
export type Names = ReadonlyMap<number, bigint>;
/** Product information by address. */
export type Products = ReadonlyMap<number, Uint8Array>;
