import { parseName } from "../../frame/mod.ts";
import type { Decoded, DecodedValue } from "../../pgn/mod.ts";
import type { SignalKMessage } from "../types.ts";

/** Alert texts that are kept of one device. */
export const MAX_ALERT_TEXTS = 64;

/** What earlier messages of one device said. */
export interface DeviceState {
  /** How the device computes courses, of its newest PGN 129284. */
  course?: "GreatCircle" | "Rhumbline";
  /** Texts of its alerts by their id: PGN 126985 says them, 126983 refers to them. */
  readonly alertTexts: Map<number, string>;
  /** The source that its entertainment system plays. */
  fusionSource?: number;
}

/** Adds fields to a decoded message; undefined: nothing of it is mapped. */
type Prepare = (decoded: Decoded, context: { message: SignalKMessage; state: DeviceState }) => Decoded | undefined;

const ALERT_STATES: Readonly<Record<string, string>> = {
  "Emergency Alarm": "emergency",
  Alarm: "alarm",
  Warning: "warn",
  Caution: "alert",
};

function keepText(decoded: Decoded, { alertTexts }: DeviceState): undefined {
  const { alert_id: id, alert_text_description: text } = decoded;
  if (typeof id !== "number" || typeof text !== "string") return undefined;
  alertTexts.delete(id);
  alertTexts.set(id, text);
  const [oldest] = alertTexts.keys();
  if (alertTexts.size > MAX_ALERT_TEXTS && oldest !== undefined) alertTexts.delete(oldest);
}

function alert(decoded: Decoded, { alertTexts }: DeviceState): Decoded | undefined {
  const { alert_id: id, alert_type: type, alert_category: category } = decoded;
  const text = typeof id === "number" ? alertTexts.get(id) : undefined;
  if (text === undefined || type === null || type === undefined) return undefined;
  // Devices send types that the standard does not have.
  const known = typeof type === "string" && type in ALERT_STATES ? type : "Caution";
  const isQuiet = decoded.temporary_silence_status === "Yes" || decoded.acknowledge_status === "Yes";
  return {
    ...decoded,
    text,
    type_in_path: known.replaceAll(" ", "").toLowerCase(),
    category_in_path: typeof category === "string" ? category.toLowerCase() : "",
    state: ALERT_STATES[known] ?? "alert",
    method: isQuiet ? [] : ["visual", "sound"],
  };
}

const WAYPOINTS = ["previous", "next", "following"] as const;

/** The waypoints of a route as fields of the message. */
function route(decoded: Decoded): Decoded {
  const list = Array.isArray(decoded.waypoints) ? decoded.waypoints : [];
  const named = WAYPOINTS.flatMap((which, index): [string, DecodedValue][] => {
    const point = list[index];
    if (typeof point !== "object" || point === null || Array.isArray(point)) return [];
    return Object.entries(point).map(([key, value]) => [`${which}_${key}`, value]);
  });
  return { ...decoded, ...Object.fromEntries(named) };
}

function switches(decoded: Decoded): Decoded {
  const list = Array.isArray(decoded.indicators) ? decoded.indicators : [];
  const known = list.flatMap((state, index): Decoded[] =>
    state === 0 || state === 1 || state === 2
      // 2 is an error: not on.
      ? [{ number: index + 1, is_on: state === 1 ? 1 : 0 }]
      : []
  );
  return { ...decoded, switches: known };
}

function fusion(decoded: Decoded, state: DeviceState): Decoded {
  if (typeof decoded.current_source_id === "number") state.fusionSource = decoded.current_source_id;
  const { number } = decoded;
  // Zones are counted from 0 here, from 1 in the paths.
  return {
    ...decoded,
    playing: state.fusionSource ?? null,
    zone_number: typeof number === "number" ? number + 1 : null,
  };
}

const PREPARES = {
  /** The address of the device, as a part of paths. */
  address: (decoded, { message }) => ({ ...decoded, src: message.src }),
  /** The instance in the device's NAME, as a part of paths. */
  deviceInstance: (decoded, { message: { name } }) =>
    name === undefined ? undefined : { ...decoded, device_instance: parseName(name).deviceInstance },
  /** PGN 129284 says how the device computes courses … */
  course: (decoded, { message: { timeUs }, state }) => {
    state.course = decoded.calc_type === 0 ? "GreatCircle" : "Rhumbline";
    return { ...decoded, course: state.course, now: timeUs / 1e6 };
  },
  /** … which other messages do not say. */
  lastCourse: (decoded, { state: { course } }) => course && { ...decoded, course },
  lastCourseRoute: (decoded, { state: { course } }) => course && { ...route(decoded), course },
  alertText: (decoded, { state }) => keepText(decoded, state),
  alert: (decoded, { state }) => alert(decoded, state),
  switches: (decoded) => switches(decoded),
  fusion: (decoded, { state }) => fusion(decoded, state),
} as const satisfies Record<string, Prepare>;

/** Name of a preparation. */
export type PrepareName = keyof typeof PREPARES;

/** The preparation with a name. */
export function prepareOf(name: PrepareName): Prepare {
  return PREPARES[name];
}
