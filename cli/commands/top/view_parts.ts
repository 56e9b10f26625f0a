import type { BoatReplication, Device } from "@vessel/gateway/client";
import { inOrder, withBus } from "../../client/devices_table.ts";
import { NOTHING, payloadText, timeOfDay } from "../../client/frame_text.ts";
import { cut, formatItems, type ItemColumn, lengthOf, padded } from "../../program/table.ts";
import { paint, printable } from "../../program/terminal.ts";
import { equipmentRows, navigationRows, type PanelRow } from "./boat_panel.ts";
import type { Picture, ScreenSize } from "./picture.ts";
import { rateTexts, sumOf } from "./rates.ts";

const RIGHT = { align: "right" } as const;
/** Devices in the overview. */
const BUSIEST = 5;
/** Widths of the titles, characters. */
const NAVIGATION_TITLE = 9;
const EQUIPMENT_TITLE = 13;
/** Fixed width of the left column, characters. */
const LEFT_WIDTH = 36;
const GAP = 2;
/** Least terminal width for two columns, characters. */
const TWO_COLUMNS = 76;

/** The overview: values, health, replication, buses and the busiest devices. */
export function overview(picture: Picture, frame: ScreenSize): string[] {
  return [
    ...boatPanel(picture, frame),
    "",
    ...healthLines(picture, frame),
    "",
    ...busesTable(picture, frame),
    ...devicesTable({ ...picture, sample: { ...picture.sample, devices: busiest(picture) } }, frame),
  ];
}

/** Navigation on the left; engines, batteries and tanks on the right, or below in a narrow terminal. */
function boatPanel({ boat, units }: Picture, frame: ScreenSize): string[] {
  const [left, right] = [navigationRows(boat, units), equipmentRows(boat, units)];
  const isWide = right.length > 0 && frame.columns >= TWO_COLUMNS;
  const leftWidth = isWide ? LEFT_WIDTH : frame.columns;
  const navigation = left.flatMap((row) => rowLines(row, { title: NAVIGATION_TITLE, width: leftWidth }));
  const rightWidth = isWide ? frame.columns - LEFT_WIDTH - GAP : frame.columns;
  const equipment = right.flatMap((row) => rowLines(row, { title: EQUIPMENT_TITLE, width: rightWidth }));
  if (!isWide) return [...navigation, ...equipment];
  return Array.from(
    { length: Math.max(navigation.length, equipment.length) },
    (_, index) => (padded(navigation[index] ?? "", { width: LEFT_WIDTH + GAP }) + (equipment[index] ?? "")).trimEnd(),
  );
}

/** Wraps the texts of a row to indented lines. */
function rowLines({ title, texts }: PanelRow, widths: { title: number; width: number }): string[] {
  const available = widths.width - widths.title - 1;
  const lines: string[] = [];
  for (const text of texts) {
    const joined = lines.length === 0 ? text : `${lines.at(-1)}  ${text}`;
    if (lines.length === 0 || lengthOf(joined) > available) lines.push(text);
    else lines[lines.length - 1] = joined;
  }
  return lines.map((line, index) =>
    cut(`${padded(index === 0 ? title : "", { width: widths.title })} ${line}`, widths.width)
  );
}

/** All devices with their rates. */
export function devicesTable({ sample: { devices }, rates }: Picture, frame: ScreenSize): string[] {
  const rateText = (device: Device, index: 0 | 1) => rateTexts(rates.of(device))[index];
  return tableLines(devices, {
    frame,
    columns: withBus(devices, [
      { title: "SRC", ...RIGHT, text: ({ src }) => String(src) },
      { title: "MANUFACTURER", max: 20, text: ({ manufacturer = "" }) => manufacturer },
      { title: "MODEL", max: 24, text: ({ model_id = "" }) => model_id },
      { title: "FRAMES/S", ...RIGHT, text: (device) => rateText(device, 0) },
      { title: "BYTES/S", ...RIGHT, text: (device) => rateText(device, 1) },
      { title: "FRAMES", ...RIGHT, text: ({ packet_count }) => String(packet_count) },
      { title: "LAST", text: ({ last_seen }) => timeOfDay(last_seen) },
    ]),
  });
}

/** The newest message of each kind from each device. */
export function valuesTable({ sample: { values }, units }: Picture, frame: ScreenSize): string[] {
  const all = inOrder(values).flatMap(({ bus, src, values }) =>
    values.map((value) => ({ ...value, src, ...(bus !== undefined && { bus }) }))
  );
  return tableLines(all, {
    frame,
    columns: [
      { title: "TIME", text: ({ ts }) => timeOfDay(ts) },
      ...withBus(all, [
        { title: "SRC", ...RIGHT, text: ({ src }) => String(src) },
        { title: "PGN", ...RIGHT, text: ({ pgn }) => String(pgn) },
        { title: "MESSAGE", max: 24, text: ({ description = "" }) => description },
        // Cut early: formatting a table of long texts is expensive.
        { title: "VALUES", text: (value) => payloadText(value, units).slice(0, frame.columns) },
      ]),
    ],
  });
}

/** Empty if there is only one bus: its figures are those of the first line. */
function busesTable({ sample: { devices }, rates }: Picture, frame: ScreenSize): string[] {
  if (!devices.some(({ bus }) => bus !== undefined)) return [];
  const buses = Array.from(Map.groupBy(inOrder(devices), ({ bus = "" }) => bus), ([bus, members]) => {
    const [framesText, bytesText] = rateTexts(sumOf(members.map((device) => rates.of(device))));
    return { bus, devices: members.length, framesText, bytesText };
  });
  const columns: ItemColumn<(typeof buses)[number]>[] = [
    { title: "BUS", text: ({ bus }) => bus },
    { title: "DEVICES", ...RIGHT, text: ({ devices }) => String(devices) },
    { title: "FRAMES/S", ...RIGHT, text: ({ framesText }) => framesText },
    { title: "BYTES/S", ...RIGHT, text: ({ bytesText }) => bytesText },
  ];
  return [...tableLines(buses, { columns, frame }), ""];
}

function healthLines({ sample: { health, replication } }: Picture, { columns, hasColor }: ScreenSize): string[] {
  const form = { hasColor };
  const components = Object.entries(health?.components ?? {});
  const good = components.filter(([, { status }]) => status === "ok").map(([name]) => name).join(", ");
  const lines = [
    ...(health === undefined ? ["A cloud does not report the health of a boat"] : []),
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
  const isComplete = backfill_remaining_seqs === 0 && holes.length === 0;
  const missing = isComplete
    ? "nothing missing"
    : `${backfill_remaining_seqs} to be sent in ${holes.length} hole${holes.length === 1 ? "" : "s"}`;
  const why = reason === undefined ? "" : ` (${reason})`;
  return `${state}${why}, live lag ${live_lag}, ${missing}, acknowledged ${ack}`;
}

function busiest({ sample: { devices }, rates }: Picture): Device[] {
  const framesOf = (device: Device) => rates.of(device)?.frames ?? 0;
  return devices.toSorted((a, b) => framesOf(b) - framesOf(a) || b.packet_count - a.packet_count).slice(0, BUSIEST);
}

/** Lines of a table, cut if even its narrowest form does not fit. */
function tableLines<T>(
  items: readonly T[],
  { columns, frame }: { columns: readonly ItemColumn<T>[]; frame: ScreenSize },
): string[] {
  const table = formatItems(items, { columns, width: frame.columns, color: false });
  return table.split("\n").map((line, index) => {
    const text = cut(line, frame.columns);
    return index === 0 ? paint(frame, "bold", text) : text;
  });
}
