import type { BoatReplication, DecodedLastValue, Device, LastValues } from "@vessel/gateway/client";
import { inOrder } from "./devices_command_table.ts";
import { NOTHING, payloadText, timeOfDay } from "./frame_text.ts";
import { type Column, cut, formatTable } from "./table.ts";
import { paint, printable } from "./terminal.ts";
import type { Frame, Picture } from "./top_picture.ts";
import { rateTexts, sumOf } from "./top_rates.ts";

const RIGHT = { align: "right" } as const;
const BUS: Column = { title: "BUS", max: 12 };
/** Devices in the overview. */
const BUSIEST = 5;
/** The server leaves the name out where there is one bus alone. */
const ONLY_BUS = "the only one";

/** Everything in short: buses, health, replication, the busiest devices and the newest values. */
export function overview(picture: Picture, frame: Frame): string[] {
  const top = [
    ...busesTable(picture, frame),
    "",
    ...healthLines(picture, frame),
    "",
    ...devicesTable({ ...picture, sample: { ...picture.sample, devices: busiest(picture) } }, frame),
    "",
  ];
  const rest = frame.rows - top.length;
  return [...top, ...newestTable(picture, frame).slice(0, Math.max(0, rest))];
}

/** All devices with what they send. */
export function devicesTable(
  { sample: { devices }, rates }: Picture,
  frame: Frame,
): string[] {
  const hasBuses = devices.some(({ bus }) => bus !== undefined);
  const columns: Column[] = [
    ...(hasBuses ? [BUS] : []),
    { title: "SRC", ...RIGHT },
    { title: "MANUFACTURER", max: 20 },
    { title: "MODEL", max: 24 },
    { title: "FRAMES/S", ...RIGHT },
    { title: "BYTES/S", ...RIGHT },
    { title: "FRAMES", ...RIGHT },
    { title: "LAST" },
  ];
  const rows = devices.map((device) => [
    ...(hasBuses ? [device.bus ?? ""] : []),
    String(device.src),
    device.manufacturer ?? "",
    device.model_id ?? "",
    ...rateTexts(rates.of(device)),
    String(device.packet_count),
    timeOfDay(device.last_seen),
  ]);
  return tableLines(rows, { columns, frame });
}

/** The newest message of each kind from each device. */
export function valuesTable({ sample: { values } }: Picture, frame: Frame): string[] {
  return tableOfValues(inOrder(values).flatMap((device) => device.values.map((value) => ({ device, value }))), frame);
}

interface DeviceValue {
  device: LastValues<DecodedLastValue>;
  value: DecodedLastValue;
}

function newestTable({ sample: { values } }: Picture, frame: Frame): string[] {
  const all: DeviceValue[] = values.flatMap((device) => device.values.map((value) => ({ device, value })));
  const newest = all.toSorted((a, b) => b.value.seq - a.value.seq).slice(0, Math.max(0, frame.rows));
  return tableOfValues(newest, frame);
}

function tableOfValues(values: readonly DeviceValue[], frame: Frame): string[] {
  const hasBuses = values.some(({ device }) => device.bus !== undefined);
  const columns: Column[] = [
    { title: "TIME" },
    ...(hasBuses ? [BUS] : []),
    { title: "SRC", ...RIGHT },
    { title: "PGN", ...RIGHT },
    { title: "MESSAGE", max: 24 },
    { title: "VALUES" },
  ];
  const rows = values.map(({ device: { bus, src }, value }) => [
    timeOfDay(value.ts),
    ...(hasBuses ? [bus ?? ""] : []),
    String(src),
    String(value.pgn),
    value.description ?? "",
    // Beyond the width it is cut in any case; a table of long ones would cost much.
    payloadText(value).slice(0, frame.columns),
  ]);
  return tableLines(rows, { columns, frame });
}

function busesTable({ sample: { devices }, rates }: Picture, frame: Frame): string[] {
  const columns: Column[] = [
    { title: "BUS" },
    { title: "DEVICES", ...RIGHT },
    { title: "FRAMES/S", ...RIGHT },
    { title: "BYTES/S", ...RIGHT },
  ];
  const rows = Array.from(Map.groupBy(inOrder(devices), ({ bus = ONLY_BUS }) => bus), ([bus, members]) => [
    bus,
    String(members.length),
    ...rateTexts(sumOf(members.map((device) => rates.of(device)))),
  ]);
  return tableLines(rows, { columns, frame });
}

function healthLines({ sample: { health, replication } }: Picture, { columns, hasColor }: Frame): string[] {
  const form = { hasColor };
  const components = Object.entries(health?.components ?? {});
  const good = components.filter(([, { status }]) => status === "ok").map(([name]) => name).join(", ");
  const lines = [
    ...(health === undefined ? ["The health of this boat is not told here"] : []),
    ...(good === "" ? [] : [printable(`Healthy: ${good}`)]),
    ...(replication ? [printable(`Replication: ${replicationText(replication)}`)] : []),
  ].map((line) => cut(line, columns));
  const bad = components.filter(([, { status }]) => status !== "ok").map(([name, { status, message = "" }]) =>
    paint(form, status === "degraded" ? "yellow" : "red", cut(printable(`${name}: ${status}: ${message}`), columns))
  );
  return [...bad, ...lines];
}

function replicationText(replication: BoatReplication): string {
  const { state, live_lag, backfill_remaining_seqs, holes, last_ack, reason } = replication;
  const ack = last_ack === null ? NOTHING : timeOfDay(last_ack);
  const missing = `${backfill_remaining_seqs} to be sent in ${holes.length} hole${holes.length === 1 ? "" : "s"}`;
  const why = reason === undefined ? "" : ` (${reason})`;
  return `${state}${why}, live lag ${live_lag}, ${missing}, acknowledged ${ack}`;
}

function busiest({ sample: { devices }, rates }: Picture): Device[] {
  const framesOf = (device: Device) => rates.of(device)?.frames ?? 0;
  return devices.toSorted((a, b) => framesOf(b) - framesOf(a) || b.packet_count - a.packet_count).slice(0, BUSIEST);
}

/** A table as lines, cut where not even its narrowest form fits. */
function tableLines(
  rows: readonly (readonly string[])[],
  { columns, frame }: { columns: readonly Column[]; frame: Frame },
): string[] {
  const table = formatTable(rows, { columns, width: frame.columns, color: false });
  return table.split("\n").map((line, index) => {
    const text = cut(line, frame.columns);
    return index === 0 ? paint(frame, "bold", text) : text;
  });
}
