import type { DecodedLastValue, QuantitySources, SourceValue } from "@vessel/gateway/client";
import { describePgn, fieldsOfPayload } from "@vessel/gateway/pgn";
import { Quantities, type QuantityValue, STALE_INTERVALS } from "@vessel/gateway/quantities";
import { oneFieldText, valueText } from "@vessel/gateway/units";
import { nameOf, NOTHING, payloadText } from "../../client/frame_text.ts";
import type { When } from "../../client/time_option.ts";
import type { Answer } from "./answer.ts";
import { type DeviceIdentity, deviceText, identities, isDevice } from "./device.ts";
import { type Boat, utcOf } from "./tool.ts";

/** Arguments of `values`. */
export interface ValuesInput {
  quantity?: string | undefined;
  pgn?: number | undefined;
  device?: string | undefined;
  at?: When | undefined;
}

/** A quantity with its sources. */
type ShownQuantity = Pick<QuantitySources, "quantity" | "label" | "field" | "unit" | "sources">;

/** Quantities at a time, with the names of their devices. */
interface Shown {
  quantities: readonly ShownQuantity[];
  identify: (device: DeviceIdentity) => DeviceIdentity;
  /** Milliseconds since 1970. */
  atMs: number;
}

/** A device's usual interval is not known in the past, nor for every PGN: a younger value is not called stale, milliseconds. */
const CERTAINLY_FRESH_MS = 10_000;
const NARROW = "narrow with quantity, pgn or device";

/** Answer of `values`. */
export async function valuesAnswer(input: ValuesInput, boat: Boat): Promise<Answer> {
  const time = utcOf(input.at, boat);
  const shown = time === undefined ? await shownNow(boat) : await shownAt(time, boat);
  const { quantity, pgn, device } = input;
  const isOfMessages = quantity === undefined && (pgn !== undefined || device !== undefined);
  const items = isOfMessages ? await messageLines(input, { boat, time, shown }) : quantityLines(input, shown);
  const moment = `${new Date(shown.atMs).toISOString()}${time === undefined ? " (now)" : ""}`;
  const known = quantity === undefined ? "" : `; known are: ${labelsOf(shown.quantities)}`;
  const onlyLast = time === undefined ? "" : "; of several instances in one device, the one that was sent last";
  return {
    head: items.length === 0 ? `No such values at ${moment}${known}` : `Newest values at ${moment}${onlyLast}`,
    ...{ items, narrow: NARROW },
  };
}

/** The server knows how old values are, and the usual intervals of their devices. */
async function shownNow(boat: Boat): Promise<Shown> {
  const { client, clock, signal } = boat;
  const [quantities, identify] = await Promise.all([client.sources({ signal }), identities(boat)]);
  // The clock of the server, and in a replay that of the recording.
  const times = quantities.flatMap(({ sources }) => sources.map(({ ts, age_ms }) => Date.parse(ts) + age_ms));
  return { quantities, identify, atMs: times.length > 0 ? Math.max(...times) : Math.round(clock.wallUs() / 1000) };
}

/** In the past, the quantities are read from the newest message of each device and PGN. */
async function shownAt(time: string, { client, signal }: Boat): Promise<Shown> {
  const devices = await client.at(time).decodedValues({}, { signal });
  const atMs = Date.parse(time);
  const quantities = new Quantities();
  for (const { name, src, bus, values } of devices) {
    const device = { name, src, ...(bus !== undefined && { bus }) };
    for (const { pgn, ts, decoded } of values) {
      const timeMs = Date.parse(ts);
      if (decoded) quantities.observe({ pgn, decoded, device, timeMs, atMs: timeMs });
    }
  }
  return {
    quantities: quantities.list(atMs).map(({ key, row: { field, unit }, label, sources }) => ({
      ...{ quantity: key, label, field, ...(unit !== undefined && { unit }) },
      sources: sources.map(({ device, pgn, value, timeMs, ageMs, intervalMs }) => ({
        ...{ ...device, pgn, value, ts: new Date(timeMs).toISOString(), age_ms: ageMs, interval_ms: intervalMs },
        stale: isStale(ageMs, { intervalMs, isOwn: false }),
      })),
    })),
    identify: (wanted) => devices.find(({ bus, src }) => bus === wanted.bus && src === wanted.src) ?? wanted,
    atMs,
  };
}

/** A line for each quantity with its preferred source, or one for each source if a quantity was asked for. */
function quantityLines({ quantity, pgn, device }: ValuesInput, { quantities, identify }: Shown): string[] {
  const wanted = quantity?.trim().toLowerCase() ?? "";
  const found = quantities.filter((each) => `${each.quantity} ${each.label}`.toLowerCase().includes(wanted));
  return found.flatMap((each) => {
    const lines = each.sources.flatMap((source) => {
      const identity = identify(source);
      const isWanted = (pgn ?? source.pgn) === source.pgn && (device === undefined || isDevice(device, identity));
      return isWanted ? [quantityLine(each, { source, identity })] : [];
    });
    if (quantity !== undefined || lines.length < 2) return lines;
    return [`${lines[0]}; ${lines.length - 1} more with quantity "${each.quantity}"`];
  });
}

function quantityLine(
  quantity: ShownQuantity,
  { source, identity }: { source: SourceValue; identity: DeviceIdentity },
): string {
  const { pgn, value, ts, age_ms, stale } = source;
  const text = quantityText(value, { ...quantity, pgn }) + (stale ? " (stale)" : "");
  const { label, field } = quantity;
  return `${label}: ${text}, ${ts}, age ${ageText(age_ms)}, from ${deviceText(identity)}, field ${pgn}.${field}`;
}

/** Text of a quantity, with its unit. */
function quantityText(
  value: QuantityValue,
  { quantity: key, pgn, field, unit }: Omit<ShownQuantity, "sources"> & { pgn: number },
): string {
  const system = "nautical";
  if (typeof value === "object") {
    const text = (name: "latitude" | "longitude") => valueText(value[name], { name, unit: "deg" }, { system });
    return `${text("latitude")} ${text("longitude")}`;
  }
  if (unit === undefined || typeof value === "string") {
    const fields = fieldsOfPayload(pgn, new Uint8Array(0)) ?? new Map();
    return oneFieldText(field, { [field]: value }, { fields, system }) ?? NOTHING;
  }
  // Only the key distinguishes the pressure of the air from others, and a true direction from a magnetic one.
  const name = unit === "Pa" ? key.toLowerCase() : field;
  const reference = /\.(?:true|north)(?:\.|$)/.test(key) ? "T" : /\.magnetic/.test(key) ? "M" : undefined;
  return valueText(value, { name, unit }, { system, reference });
}

/** A line for each message of the PGN or the device. */
async function messageLines(
  { pgn, device: wanted }: ValuesInput,
  { boat: { client, signal }, time, shown }: { boat: Boat; time: string | undefined; shown: Shown },
): Promise<string[]> {
  const source = time === undefined ? client : client.at(time);
  const devices = await source.decodedValues(pgn === undefined ? {} : { pgn: [pgn] }, { signal });
  const intervals = time === undefined ? usualIntervals(shown.quantities) : new Map<string, number>();
  return devices.filter((each) => wanted === undefined || isDevice(wanted, each)).flatMap((device) =>
    device.values.map((value) => messageLine(value, { device, intervals, atMs: shown.atMs }))
  );
}

function messageLine(
  value: DecodedLastValue,
  { device, intervals, atMs }: { device: DeviceIdentity; intervals: ReadonlyMap<string, number>; atMs: number },
): string {
  const { pgn, ts, description = nameOf(pgn) } = value;
  const ageMs = Math.max(0, atMs - Date.parse(ts));
  const own = intervals.get(messageKey(device, pgn));
  const stale = isStale(ageMs, { intervalMs: own ?? describePgn(pgn)?.interval_ms, isOwn: own !== undefined });
  const about = [deviceText(device), `PGN ${pgn}${description === undefined ? "" : ` ${description}`}`, ts];
  return `${about.join(", ")}, age ${ageText(ageMs)}${stale ? " (stale)" : ""}: ${payloadText(value, "nautical")}`;
}

/** Usual intervals of the messages with quantities, milliseconds. */
function usualIntervals(quantities: readonly ShownQuantity[]): Map<string, number> {
  return new Map(
    quantities.flatMap(({ sources }) => sources.map((each) => [messageKey(each, each.pgn), each.interval_ms])),
  );
}

function messageKey({ bus = "", src }: DeviceIdentity, pgn: number): string {
  return `${bus} ${src} ${pgn}`;
}

/** @param options.intervalMs undefined: a message that is sent when something changes */
function isStale(ageMs: number, { intervalMs, isOwn }: { intervalMs: number | undefined; isOwn: boolean }): boolean {
  if (intervalMs === undefined) return false;
  return ageMs > Math.max(STALE_INTERVALS * intervalMs, isOwn ? 0 : CERTAINLY_FRESH_MS);
}

function ageText(ageMs: number): string {
  return valueText(ageMs / 1000, { name: "age", unit: "s" }, { system: "nautical", resolution: 0.1 });
}

function labelsOf(quantities: readonly ShownQuantity[]): string {
  return quantities.map(({ label }) => label).join(", ") || "none";
}
