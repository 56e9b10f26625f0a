import {
  type BusReport,
  INCOMPLETE_TEXTS,
  type LedgerReport,
  MISSING_TEXTS,
  UNKNOWN_TEXTS,
} from "@vessel/gateway/journal";
import { printable } from "../../program/terminal.ts";
import { durationText } from "../../settings/option_types.ts";

/** A line: what is counted, how many, and why. */
type Line = [name: string, count: number, why?: string];

/** A ledger for people. */
export function ledgerText({ from, to, closed, buses }: LedgerReport): string {
  if (from === null || to === null || buses.length === 0) return "Nothing is known of this time\n";
  const lines = [`${timeText(from)} to ${timeText(to)} UTC`, ""];
  for (const bus of buses) lines.push(...busLines(bus), "");
  const off = buses.filter((bus) => !bus.closed);
  for (const bus of off) lines.push(`The sums of ${nameOf(bus)} are not exact: ${offText(bus)}`);
  if (closed) lines.push("The sums are exact: every frame and message is accounted for");
  return lines.join("\n") + "\n";
}

function nameOf({ bus }: BusReport): string {
  return bus === null ? "all buses" : printable(bus);
}

function busLines(bus: BusReport): string[] {
  return [nameOf(bus), ...numberLines([...frameLines(bus), ...messageLines(bus)]), ...unknownLines(bus)];
}

function frameLines({ frames }: BusReport): Line[] {
  if (!frames) return [];
  const { received, in_messages, dropped, incomplete, waiting } = frames;
  return [
    ["frames received", received],
    ["  in messages", in_messages],
    ...some("  dropped", [["", dropped, "by the interface, or because the server was too slow"]]),
    ...some("  incomplete", reasons(incomplete, INCOMPLETE_TEXTS)),
    ...some("  waiting", [["", waiting, "for the rest of their message"]]),
  ];
}

function messageLines({ messages: { numbered, recorded, missing, acknowledged, stored } }: BusReport): Line[] {
  return [
    ["messages", numbered],
    ["  recorded", recorded],
    ...some("  not recorded", reasons(missing, MISSING_TEXTS)),
    ...(acknowledged === null ? [] : [["  in the cloud", acknowledged, "acknowledged"] as Line]),
    ...(stored === null ? [] : [["", stored, "stored"] as Line]),
  ];
}

function reasons(counts: Readonly<Record<string, number>>, texts: Readonly<Record<string, string>>): Line[] {
  return Object.entries(counts).map(([reason, count]) => ["", count, texts[reason] ?? reason]);
}

/** The lines with a count, the first one with a name. */
function some(name: string, lines: readonly Line[]): Line[] {
  return lines.filter(([, count]) => count !== 0)
    .map(([, count, why = ""], index) => [index === 0 ? name : "", count, why]);
}

function numberLines(lines: readonly Line[]): string[] {
  const texts = lines.map(([name, count, why]) => [name, countText(count), why] as const);
  const nameWidth = Math.max(...texts.map(([name]) => name.length));
  const countWidth = Math.max(...texts.map(([, count]) => count.length));
  return texts.map(([name, count, why = ""]) =>
    `  ${name.padEnd(nameWidth)}  ${count.padStart(countWidth)}  ${printable(why)}`.trimEnd()
  );
}

function unknownLines({ unknown }: BusReport): string[] {
  return unknown.map(({ from, to, reason, recorded, interface_frames: frames }) => {
    const lasted = durationText(Date.parse(to) - Date.parse(from));
    const parts = [
      UNKNOWN_TEXTS[reason] ?? printable(reason),
      ...(frames === null ? [] : [`the interface counted ${countText(frames)} frames`]),
      ...(recorded === 0 ? [] : [`${countText(recorded)} messages are recorded`]),
    ];
    return `  not known, ${timeText(from)} to ${timeText(to)} (${lasted}): ${parts.join("; ")}`;
  });
}

function offText({ off: { frames, messages } }: BusReport): string {
  const parts: string[] = [];
  if (frames > 0) parts.push(`${countText(frames)} frames were received and are nowhere`);
  if (frames < 0) parts.push(`${countText(-frames)} frames more than were received`);
  if (messages > 0) parts.push(`${countText(messages)} messages were numbered and are nowhere`);
  if (messages < 0) parts.push(`${countText(-messages)} messages more than were numbered`);
  return parts.join("; ");
}

/** A number with spaces between thousands. */
function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, " ");
}

function timeText(time: string): string {
  return time.slice(0, "2026-01-02T03:04:05".length).replace("T", " ");
}
