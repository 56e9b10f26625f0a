/** How bad a finding is. `info`: nothing is broken, but somebody should know. */
export type Severity = "critical" | "warning" | "info";

/** What can be wrong. */
export type FindingKind =
  | "bus_load"
  | "bus_errors"
  | "error_frames"
  | "incomplete_fast_packet"
  | "request_unanswered"
  | "request_refused"
  | "never_claims"
  | "address_conflict"
  | "loser_keeps_sending"
  | "duplicate_name"
  | "address_shared"
  | "address_unstable"
  | "duplicate_data_instance"
  | "duplicate_device_instance"
  | "product_changed"
  | "firmware_changed"
  | "missing_device"
  | "device_reset"
  | "voltage_dip"
  | "rate_high"
  | "rate_low"
  | "stuck_value"
  | "impossible_value"
  | "value_jumps"
  | "sources_disagree"
  | "clocks_disagree";

/** A frame of the journal. */
export interface FrameReference {
  /** Epoch, 32 hex digits; left out in recordings that have none. */
  epoch?: string;
  /** Its sequence number. */
  seq: number;
}

/** Something that is wrong, in the form of the API. */
export interface Finding {
  /** For programs. */
  kind: FindingKind;
  /** How bad it is. */
  severity: Severity;
  /** Name of the bus. */
  bus: string;
  /** Source address of the device; left out: the bus as a whole, or one of several devices that the text names. */
  src?: number;
  /** Its NAME, `0x` and 16 hex digits. */
  name?: string;
  /** PGN of the messages that show it. */
  pgn?: number;
  /** When the cause was first seen, RFC 3339. */
  since: string;
  /** When it was last seen. */
  last_seen: string;
  /** 0 to 1. */
  confidence: number;
  /** What is wrong, in one sentence. */
  text: string;
  /** What to do about it, in one sentence. */
  advice: string;
  /** Up to three frames that show it. */
  frames: FrameReference[];
}

/** Properties that all findings of a kind share. */
export interface KindRow {
  readonly severity: Severity;
  /** The cause must last for this time before there is a finding, milliseconds. */
  readonly confirmMs: number;
  /** A cause that is not seen for this time is gone: the finding ends, milliseconds. */
  readonly endMs: number;
  readonly advice: string;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

function row(severity: Severity, { confirmS = 0, endS = 60, advice }: {
  confirmS?: number;
  endS?: number;
  advice: string;
}): KindRow {
  return { severity, confirmMs: confirmS * SECOND_MS, endMs: endS * SECOND_MS, advice };
}

const WIRING =
  "Check that the backbone has exactly two terminators, 60 Ω between CAN-H and CAN-L with the power off, and " +
  "that all plugs are tight and dry";

/** All kinds of findings. */
export const FINDING_KINDS: Readonly<Record<FindingKind, KindRow>> = {
  bus_load: row("warning", {
    confirmS: 10,
    endS: 60,
    advice:
      "Find the devices that send most (PGN rates in `vbg top`), reduce their rates, or divide the network with a " +
      "bridge",
  }),
  bus_errors: row("warning", { confirmS: 2, endS: 60, advice: WIRING }),
  error_frames: row("warning", { endS: 120, advice: WIRING }),
  incomplete_fast_packet: row("warning", {
    endS: 120,
    advice: "Check the drop cable and plug of the device; if it is one device alone, update its software",
  }),
  request_unanswered: row("warning", {
    endS: 600,
    advice: "Switch the device off and on; if it stays so, update its software: every device has to answer",
  }),
  request_refused: row("info", {
    endS: 120,
    advice: "Configure the asking device so that it does not request what the other one cannot deliver",
  }),
  never_claims: row("warning", {
    confirmS: 5,
    endS: 60,
    advice: "Find the device by unplugging: it does not follow NMEA 2000, and its address can collide with others",
  }),
  address_conflict: row("critical", {
    endS: 60,
    advice:
      "Give one of the two another address or device instance, or update its software: it must choose a free address",
  }),
  loser_keeps_sending: row("critical", {
    endS: 60,
    advice:
      "Update the device's software or give it a fixed free address: it must stop sending when it loses its address",
  }),
  duplicate_name: row("critical", {
    endS: 120,
    advice: "Set another device instance or serial number on one of the two: a NAME may exist only once on a network",
  }),
  address_shared: row("warning", {
    confirmS: 12,
    endS: 180,
    advice: "Look for a second device or gateway that sends with this address, such as a simulator or a bridge",
  }),
  address_unstable: row("warning", {
    endS: 600,
    advice: "Find out which other device takes its address, and give one of the two a fixed free address",
  }),
  duplicate_data_instance: row("warning", {
    confirmS: 15,
    endS: 60,
    advice: "Give each of the devices its own data instance (battery, engine or tank number) in its settings",
  }),
  duplicate_device_instance: row("info", {
    confirmS: 15,
    endS: 60,
    advice: "Give one of them another device instance, so that displays can tell them apart",
  }),
  product_changed: row("warning", {
    endS: 120,
    advice: "If the device was not replaced, two devices use this NAME: change the serial number or instance of one",
  }),
  firmware_changed: row("info", {
    endS: 120,
    advice: "Ask who updated the device. Note the date: a later problem may have begun with this update",
  }),
  missing_device: row("warning", {
    endS: 10,
    advice: "If it was not switched off on purpose: check its fuse and supply, then its plug at the backbone",
  }),
  device_reset: row("warning", {
    endS: 600,
    advice: "Measure the supply at the device while it starts again; check its plug, then its software",
  }),
  voltage_dip: row("warning", {
    endS: 600,
    advice:
      "Supply the network from a battery that does not start engines, and check the cross-section of the supply " +
      "cable",
  }),
  rate_high: row("warning", {
    confirmS: 12,
    endS: 150,
    advice: "Look whether a setting or a software update of the device has changed, and reduce the rate",
  }),
  rate_low: row("warning", {
    confirmS: 12,
    endS: 150,
    advice: "Check the sensor behind the device and its cable; messages are lost or not sent",
  }),
  stuck_value: row("warning", {
    endS: 30,
    advice: "Check the sensor: clean or free it, and look whether its display shows the same",
  }),
  impossible_value: row("warning", {
    confirmS: 5,
    endS: 30,
    advice: "Check the cable and the calibration of the sensor",
  }),
  value_jumps: row("warning", {
    endS: 90,
    advice: "Check the place of the sensor (antenna, transducer, magnets near it), its cable and its supply",
  }),
  sources_disagree: row("warning", {
    confirmS: 15,
    endS: 30,
    advice: "Compare both with a third source, calibrate the wrong one, and choose the right one on the displays",
  }),
  clocks_disagree: row("warning", {
    confirmS: 10,
    endS: 60,
    advice: "Check the GNSS reception and the software of the device whose clock is wrong: times in logs depend on it",
  }),
};

/** A minute, for the checks. */
export { MINUTE_MS, SECOND_MS };
