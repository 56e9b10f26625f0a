import type {
  BlackBoxEntry,
  BoatAlert,
  BoatHealth,
  Device,
  NetworkFinding,
  NetworkReport,
} from "@vessel/gateway/client";
import { nothingText } from "../doctor/nothing.ts";
import type { BusFigures, ReportContent } from "./collect.ts";
import { STYLE } from "./style.ts";

/** What became of positions in the frames: messages left out, by file. */
export type PagePositions = { kind: "included" } | { kind: "removed"; removed: ReadonlyMap<string, number> };

/** A column of a table: its title, and the text of a row. */
type Column<Row> = readonly [title: string, text: (row: Row) => Html | string | number | undefined];

/** Text that is markup already. */
interface Html {
  html: string;
}

/** The report as one page without links to anything else. */
export function pageOf(content: ReportContent, positions: PagePositions): string {
  const { boat, version, takenAt } = content;
  const title = `Report of ${boat}`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
<p>Made ${escaped(timeText(takenAt))} by Vessel Bus Gateway ${escaped(version)}. All times are UTC.</p>
${positions.kind === "removed" ? `<p class="note">${escaped(positionNote(positions.removed))}</p>` : ""}
</header>
<main>
${
    sectionsOf(content, positions).map(([heading, body]) =>
      `<section>\n<h2>${escaped(heading)}</h2>\n${body}\n</section>`
    ).join("\n")
  }
</main>
</body>
</html>
`;
}

function sectionsOf(content: ReportContent, positions: PagePositions): [string, string][] {
  const { doctor, buses, devices, health, alerts, events } = content;
  return [
    [
      "Findings",
      doctor ? findings(doctor) : paragraph("This server does not look for faults of the network."),
    ],
    ["Buses", table(buses, BUS_COLUMNS, "No bus is known.")],
    [`Devices (${devices.length})`, table(devices, DEVICE_COLUMNS, "No device is known.")],
    ["Black box", blackBox(events, positions)],
    ["Alerts", table(alerts, ALERT_COLUMNS, "None since the server started.")],
    [
      "Parts of the server",
      health ? healthTable(health) : paragraph("The health of the boat's server is not known here."),
    ],
  ];
}

const SEVERITIES = { critical: "bad", warning: "warn", info: "quiet" } as const;
const STATES = { ok: "good", degraded: "warn", unhealthy: "bad" } as const;

function findings({ findings: list, buses }: NetworkReport): string {
  if (list.length === 0) return paragraph(`${nothingText(buses)}.`);
  return list.map((finding) => {
    const { severity, text, advice, since, last_seen, confidence, frames } = finding;
    const seqs = frames.map(({ seq }) => seq).join(", ");
    const facts = [
      deviceText(finding),
      `since ${timeText(since)}, last seen ${timeText(last_seen)}`,
      `${Math.round(confidence * 100)} % sure`,
      ...(seqs === "" ? [] : [`frames ${seqs}`]),
    ];
    return `<article class="${SEVERITIES[severity]}">
<h3><span class="tag">${escaped(severity)}</span> ${escaped(text)}</h3>
<p>${escaped(advice)}</p>
<p class="quiet">${escaped(facts.join(" · "))}</p>
</article>`;
  }).join("\n");
}

function deviceText({ bus, src, name, pgn }: NetworkFinding): string {
  const parts = [bus, src !== undefined && `address ${src}`, name, pgn !== undefined && `PGN ${pgn}`];
  return parts.filter(Boolean).join(", ");
}

const BUS_COLUMNS: readonly Column<BusFigures>[] = [
  ["Bus", ({ bus }) => bus],
  ["State", ({ state }) => tag(state, state === "error-active" ? "good" : "bad")],
  ["Load", ({ load_percent: load }) => load === undefined ? undefined : `${load.toFixed(1)}\u00a0%`],
  ["Peak", ({ peak_percent: peak }) => peak === undefined ? undefined : `${peak.toFixed(1)}\u00a0%`],
  ["Frames", ({ frames }) => frames],
  ["Dropped", ({ dropped }) => dropped],
  ["Error frames", ({ errors }) => errors],
  ["Incomplete messages", ({ incomplete }) => incomplete],
];

const DEVICE_COLUMNS: readonly Column<Device>[] = [
  ["Address", ({ bus, src }) => bus === undefined ? src : `${bus} ${src}`],
  ["Manufacturer", ({ manufacturer }) => manufacturer],
  ["Model", ({ model_id }) => model_id],
  ["Software", ({ software_version }) => software_version],
  ["Serial number", ({ model_serial }) => model_serial],
  ["Instance", ({ device_instance }) => device_instance],
  ["NAME", ({ name }) => name],
  ["Last seen", ({ last_seen }) => timeText(last_seen)],
];

const ALERT_COLUMNS: readonly Column<BoatAlert>[] = [
  ["Time", ({ timestamp }) => timeText(timestamp)],
  ["", ({ severity }) => tag(severity, SEVERITIES[severity])],
  ["What", ({ summary }) => summary],
];

function blackBox(events: readonly BlackBoxEntry[], positions: PagePositions): string {
  const columns: Column<BlackBoxEntry>[] = [
    ["Time", ({ time }) => timeText(time)],
    ["Event", ({ kind, text }) => text === "" ? kind : text],
    ["From", ({ from = "" }) => timeOfDay(from)],
    ["To", ({ to = "" }) => timeOfDay(to)],
    ["Frames", ({ frames }) => frames],
    [
      "Missing",
      ({ missing, interrupted }) => interrupted ? `${missing}, and the server did not run all the time` : missing,
    ],
    ...(positions.kind === "removed"
      ? [["Left out", ({ name }) => positions.removed.get(name)] satisfies Column<BlackBoxEntry>]
      : []),
    ["File", ({ name }) => name],
  ];
  const note =
    "Raw frames from a minute before each event to a minute after it, in the folder blackbox of the zip file. " +
    "vbg dump, inspect, verify and export read them.";
  return (events.length > 0 ? paragraph(note) : "") + table(events, columns, "There are no events.");
}

function healthTable({ components }: BoatHealth): string {
  return table(Object.entries(components), [
    ["Part", ([name]) => name],
    ["State", ([, { status }]) => tag(status, STATES[status])],
    ["", ([, { message }]) => message],
  ], "No parts are known.");
}

function positionNote(removed: ReadonlyMap<string, number>): string {
  const sum = removed.values().reduce((total, each) => total + each, 0);
  return `Positions were removed on request: ${sum} messages that have a latitude or longitude, or of which it is not known, ` +
    "are left out of the black-box files. Their sequence numbers are missing there: these are no lost frames.";
}

function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], none: string): string {
  if (rows.length === 0) return paragraph(none);
  const head = columns.map(([title]) => `<th>${escaped(title)}</th>`).join("");
  const body = rows.map((row) => `<tr>${columns.map(([, text]) => cell(text(row))).join("")}</tr>`).join("\n");
  return `<div class="wide"><table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}\n</tbody>\n</table></div>`;
}

function cell(value: Html | string | number | undefined): string {
  if (typeof value === "number") return `<td class="number">${value}</td>`;
  return `<td>${typeof value === "object" ? value.html : escaped(value ?? "–")}</td>`;
}

function tag(text: string, className: string): Html {
  return { html: `<span class="tag ${className}">${escaped(text)}</span>` };
}

function paragraph(text: string): string {
  return `<p>${escaped(text)}</p>`;
}

function timeText(time: string): string {
  return time.replace("T", " ").replace(/(?:\.\d+)?Z$/, "");
}

function timeOfDay(time: string): string {
  return timeText(time).slice("2026-01-02 ".length);
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
