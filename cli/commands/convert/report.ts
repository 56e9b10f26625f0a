import { type ConvertedFile, type ConvertedInput, type ConvertSummary, RECORDING_NOTES } from "@vessel/gateway";
import { formatTimeUs } from "@vessel/gateway/frame";
import { count } from "../inspect/file.ts";

/** Texts of the reasons in {@linkcode ConvertedInput.recording}. */
const SKIP_REASONS: Readonly<Record<keyof ConvertedInput["recording"]["passedOver"], string>> = {
  comment: "comments, headings, empty lines",
  status: "status of the recorder",
  vendor_pgn: "PGNs that do not exist on a bus",
  foreign_frame: "frames and sentences other than NMEA 2000",
  to_gateway: "commands to the gateway",
};

/** The summary for people. Lists everything that was not converted. */
export function formatReport({ inputs, files, messages }: ConvertSummary): string {
  const lines = inputs.flatMap(describeInput);
  if (files.length === 0) lines.push("no messages: no file is written");
  lines.push(...files.map(describeFile));
  if (files.length > 1) lines.push(`${count(messages, "message")} in ${files.length} files`);
  return lines.join("\n");
}

function describeInput({ name, recording, drops, converted, unstorable, isContinued }: ConvertedInput): string[] {
  const { format, lines, frames, messages, passedOver, bad, firstBad, buses, notes } = recording;
  const found = [frames > 0 ? count(frames, "frame") : "", messages > 0 ? count(messages, "whole message") : ""];
  const from = buses.length > 0 ? ` of ${buses.map(quoted).join(", ")}` : "";
  const unit = format === "ebl" ? "record" : "line";
  const facts = [
    ...counts(passedOver).map(([why, lost]) => `skipped: ${count(lost, unit)} (${SKIP_REASONS[why]})`),
    ...bad > 0 ? [`damaged: ${count(bad, unit)}`] : [],
    ...firstBad.map(({ line, why, text }) => `  ${unit} ${line}: ${why}: ${JSON.stringify(text)}`),
    ...bad > firstBad.length ? [`  and ${bad - firstBad.length} more`] : [],
    ...counts(drops).map(([why, lost]) => `incomplete: ${lost} (${why})`),
    ...unstorable > 0 ? [`not stored, time out of range: ${count(unstorable, "message")}`] : [],
    ...notes.map((note) => `note: ${RECORDING_NOTES[note]}`),
    ...isContinued ? ["note: the recording has no dates: it begins at the end of the previous one"] : [],
  ];
  const made = `${found.filter((text) => text !== "").join(" and ") || "nothing"}${from}`;
  return [
    `${name}: ${format}, ${count(lines, unit)}: ${made} → ${count(converted, "message")}`,
    ...facts.map((fact) => `  ${fact}`),
  ];
}

function describeFile({ path, bytes, blocks, firstSeq, lastSeq, firstTimeUs, latestTimeUs }: ConvertedFile): string {
  const span = `${formatTimeUs(firstTimeUs)} to ${formatTimeUs(latestTimeUs)}`;
  return `${path}: messages ${firstSeq} to ${lastSeq}, ${span}, ${count(blocks, "block")}, ${bytes} bytes`;
}

/** The summary for programs: one object, with names in lower case. */
export function formatJson({ inputs, files, messages, buses, epoch }: ConvertSummary): string {
  return JSON.stringify({
    messages,
    epoch,
    buses,
    inputs: inputs.map(({ name, recording, drops, converted, unstorable, isContinued }) => ({
      name,
      format: recording.format,
      lines: recording.lines,
      frames: recording.frames,
      whole_messages: recording.messages,
      converted,
      passed_over: recording.passedOver,
      bad: recording.bad,
      first_bad: recording.firstBad,
      drops,
      unstorable,
      buses: recording.buses,
      notes: recording.notes,
      continued: isContinued,
    })),
    files: files.map(({ path, bytes, blocks, firstSeq, lastSeq, firstTimeUs, latestTimeUs }) => ({
      path,
      bytes,
      blocks,
      first_seq: firstSeq,
      last_seq: lastSeq,
      first_ts: formatTimeUs(firstTimeUs),
      last_ts: formatTimeUs(latestTimeUs),
    })),
  });
}

/** Counts above zero. */
function counts<T extends object>(counters: T): [keyof T, T[keyof T]][] {
  const keys = Object.keys(counters) as (keyof T)[];
  return keys.map((key): [keyof T, T[keyof T]] => [key, counters[key]]).filter(([, value]) => value !== 0);
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
