import { decode, type Decoded, type DecodedValue } from "@vessel/gateway/pgn";

export type Severity = "alarm" | "warning";

/** Kinds of alarm messages: RV-C diagnostics (DM1), Victron chargers, and NMEA 2000 alerts. */
export type AlarmSource = "dm1" | "victron" | "alert";

/** An alarm as one message reports it. */
export interface Alarm {
  source: AlarmSource;
  severity: Severity;
  /** Stable short identity, such as `spn 520234 fmi 2`. */
  code: string;
  /** Description; empty if unknown. */
  detail: string;
}

/** The alarm report in a message. */
export type AlarmWord =
  | { kind: "on"; alarm: Alarm }
  /** `code` undefined: clears all alarms of this source and device. */
  | { kind: "off"; source: AlarmSource; code: string | undefined }
  /** Text of an alert. */
  | { kind: "text"; code: string; detail: string };

const DM1_PGN = 130762;
const PROPRIETARY_PGN = 61184;
const ALERT_PGN = 126983;
const ALERT_TEXT_PGN = 126985;

const VICTRON_CODE = 358;
const CHARGER_ERROR = 60890;
/** Registers with one bit per reason, and their severity. */
const REASONS: Readonly<Record<number, Severity>> = { 796: "warning", 798: "alarm" };
const REASON_BITS = 0xffff;

/** Error codes of Victron chargers, from the VE.Direct protocol. */
const CHARGER_ERRORS: Readonly<Record<number, string>> = {
  2: "Battery voltage too high",
  17: "Charger temperature too high",
  18: "Charger over current",
  19: "Charger current reversed",
  20: "Bulk time limit exceeded",
  21: "Current sensor issue",
  26: "Terminals overheated",
  28: "Converter issue",
  33: "Input voltage too high",
  34: "Input current too high",
  38: "Input shutdown by excessive battery voltage",
  39: "Input shutdown by current while off",
  65: "Lost communication with one of the devices",
  66: "Synchronised charging configuration issue",
  67: "BMS connection lost",
  68: "Network misconfigured",
  116: "Factory calibration data lost",
  117: "Invalid firmware",
  119: "User settings invalid",
};

/** States of an active alert. */
const ALERT_STATES: readonly DecodedValue[] = ["Active", "Silenced", "Acknowledged", "Awaiting Acknowledge"];
/** Types of alerts that count as warnings. */
const WARNING_TYPES: readonly DecodedValue[] = ["Warning", "Caution"];

/** PGNs that report alarms. */
export const ALARM_PGNS: ReadonlySet<number> = new Set([DM1_PGN, PROPRIETARY_PGN, ALERT_PGN, ALERT_TEXT_PGN]);

/** The alarm report in a message; undefined if there is none. */
export function alarmWord(pgn: number, payload: Uint8Array): AlarmWord | undefined {
  const fields = decode(pgn, payload);
  if (fields === undefined) return undefined;
  if (pgn === DM1_PGN) return diagnosticWord(fields);
  if (pgn === PROPRIETARY_PGN) return victronWord(fields);
  if (pgn === ALERT_PGN) return alertWord(fields);
  return pgn === ALERT_TEXT_PGN ? textWord(fields) : undefined;
}

function diagnosticWord(
  { yellow_lamp, red_lamp, spn_msb, spn_isb, spn_lsb, fmi, operating_status }: Decoded,
): AlarmWord {
  const severity = red_lamp === "on" ? "alarm" : yellow_lamp === "on" ? "warning" : undefined;
  if (severity === undefined) return { kind: "off", source: "dm1", code: undefined };
  // All ones means "not available": only the lamp is known.
  const [high, middle, low] = [spn_msb, spn_isb, spn_lsb].map((part) => typeof part === "number" ? part : undefined);
  const spn = high === undefined || middle === undefined ? "?" : `${(high << 11) | (middle << 3) | (low ?? 7)}`;
  const detail = operating_status === "on" ? "while it works" : "";
  return { kind: "on", alarm: { source: "dm1", severity, code: `spn ${spn} fmi ${fmi ?? "?"}`, detail } };
}

function victronWord({ manufacturer_code, register, payload }: Decoded): AlarmWord | undefined {
  if (manufacturer_code !== VICTRON_CODE || typeof payload !== "number") return undefined;
  const number = isLookup(register) ? register.id : register;
  if (typeof number !== "number") return undefined;
  if (number === CHARGER_ERROR) {
    const error = payload & 0xff;
    if (error === 0) return { kind: "off", source: "victron", code: undefined };
    if (error === 0xff) return undefined;
    const alarm = { severity: "alarm", code: `error ${error}`, detail: CHARGER_ERRORS[error] ?? "" } as const;
    return { kind: "on", alarm: { source: "victron", ...alarm } };
  }
  const severity = REASONS[number];
  if (severity === undefined) return undefined;
  const bits = payload & REASON_BITS;
  const code = `${severity} reason`;
  if (bits === 0) return { kind: "off", source: "victron", code };
  const detail = `bits 0x${bits.toString(16).padStart(4, "0")}`;
  return { kind: "on", alarm: { source: "victron", severity, code, detail } };
}

function alertWord(fields: Decoded): AlarmWord {
  const { alert_type, alert_state } = fields;
  const code = alertCode(fields);
  if (!ALERT_STATES.includes(alert_state ?? null)) return { kind: "off", source: "alert", code };
  const severity = WARNING_TYPES.includes(alert_type ?? null) ? "warning" : "alarm";
  return { kind: "on", alarm: { source: "alert", severity, code, detail: "" } };
}

function textWord(fields: Decoded): AlarmWord | undefined {
  const { alert_text_description: text, alert_location_text_description: place } = fields;
  const detail = [text, place].filter((each) => typeof each === "string" && each !== "").join(", ");
  return detail === "" ? undefined : { kind: "text", code: alertCode(fields), detail };
}

/** Identity of an alert; all its messages share it. */
function alertCode({ alert_system: system, alert_sub_system: part, alert_id: id, ...fields }: Decoded): string {
  const { data_source_instance: instance, data_source_index_source: index } = fields;
  return `alert ${[system, part, id, instance, index].map((each) => each ?? "?").join("/")}`;
}

function isLookup(value: DecodedValue | undefined): value is { id: number } {
  return typeof value === "object" && value !== null && "id" in value && typeof value.id === "number";
}
