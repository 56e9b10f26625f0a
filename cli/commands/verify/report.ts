import { formatTimeUs } from "@vessel/gateway/frame";
import type { GapReason } from "@vessel/gateway/journal";
import { paint, printable } from "../../program/terminal.ts";
import { count, rangeText } from "../inspect/file.ts";
import { contentText } from "../inspect/report.ts";
import type { Fault, VerifiedFile } from "./file.ts";
import type { VerifiedEvidence } from "./evidence.ts";
import type { VerifiedJournal, VerifiedRun } from "./journal.ts";
import type { FoundGap } from "./numbers.ts";

/** Most notes of a file or epoch in text output. */
const MAX_NOTES = 10;
const REASON_TEXTS: Readonly<Record<GapReason, string>> = {
  restart: "numbers skipped at a start",
  disk: "could not be written",
  source: "missing at the source",
};

interface Style {
  hasColor: boolean;
}

/** The lines of one file. */
export function formatFile(file: VerifiedFile, style: Style): string {
  const { path, errors, notes } = file;
  return [
    `${printable(path)}: ${contentText(file)}: ${verdict(errors.length, style)}`,
    ...linesOf(errors, notes, style),
  ].join("\n");
}

/** The lines after those of the files. */
export function formatRuns({ files, runs, errors }: VerifiedJournal, style: Style): string {
  const frames = files.reduce((sum, file) => sum + file.frames, 0);
  return [
    ...runs.flatMap((run) => describeRun(run, style)),
    `${count(files.length, "file")}, ${count(frames, "frame")}: ${verdict(errors, style)}`,
  ].join("\n");
}

/** The result as JSON: one object. */
export function formatJson({ files, runs, errors }: VerifiedJournal): string {
  return JSON.stringify({
    ok: errors === 0,
    errors,
    files: files.map((file) => ({
      path: file.path,
      bytes: file.bytes,
      epoch: file.epoch ?? null,
      blocks: file.blocks,
      frames: file.frames,
      first_seq: file.firstSeq ?? null,
      last_seq: file.lastSeq ?? null,
      first_ts: file.firstTimeUs === undefined ? null : formatTimeUs(file.firstTimeUs),
      last_ts: file.latestTimeUs === undefined ? null : formatTimeUs(file.latestTimeUs),
      index: file.hasIndex,
      errors: file.errors,
      notes: file.notes,
    })),
    runs: runs.map(({ epoch, firstSeq, lastSeq, gaps, repeated, errors, notes }) => ({
      epoch: epoch ?? null,
      first_seq: firstSeq,
      last_seq: lastSeq,
      gaps: gaps.map(({ first, last, reason }) => ({ first, last, reason: reason ?? null })),
      repeated,
      errors,
      notes,
    })),
  });
}

/** The lines about statements and signatures. */
export function formatEvidence({ files, signed, late, open, faults, notes }: VerifiedEvidence, style: Style): string {
  const lines = faults.flatMap(({ path, what, places }) => [
    `${printable(path)}: ${paint(style, "red", "error")}: ${printable(what)}`,
    ...linesOf(places, [], style),
  ]);
  const lateText = late === 0 ? "" : `, ${late} of them late, after a restart or a failure`;
  return [
    ...lines,
    ...notes.map((note) => `note: ${printable(note)}`),
    ...open.map((path) => `note: ${printable(path)} is not signed: it is being written`),
    `${count(files, "file")}, ${signed} signed${lateText}: ${verdict(faults.length, style)}`,
  ].join("\n");
}

/** The same as JSON: one object. */
export function formatEvidenceJson({ files, signed, late, open, faults, notes }: VerifiedEvidence): string {
  const listed = faults.map(({ path, kind, what, places }) => ({ path, kind, what, places }));
  return JSON.stringify({
    ok: faults.length === 0,
    errors: faults.length,
    files,
    signed,
    late,
    open,
    faults: listed,
    notes,
  });
}

function describeRun({ epoch, firstSeq, lastSeq, gaps, repeated, errors, notes }: VerifiedRun, style: Style): string[] {
  const name = epoch === undefined ? "files that name no epoch" : `epoch ${epoch}`;
  const faults = [...errors, ...notes].length + gaps.length + repeated;
  const head = `${name}: numbers ${rangeText(firstSeq, lastSeq)}${faults === 0 ? " without a gap" : ""}`;
  const twice = repeated === 0 ? [] : [{ what: `${count(repeated, "number")} twice, with the same frames` }];
  const [declared, unexplained] = [true, false].map((isDeclared) =>
    gaps.filter(({ reason }) => (reason !== undefined) === isDeclared).map((gap) => ({ what: gapText(gap) }))
  );
  return [head, ...linesOf([...unexplained ?? [], ...errors], [...declared ?? [], ...twice, ...notes], style)];
}

function gapText({ first, last, reason }: FoundGap): string {
  const what = `Missing ${rangeText(first, last)} (${count(last - first + 1, "frame")})`;
  return `${what}: ${reason === undefined ? "no reason in the journal" : REASON_TEXTS[reason]}`;
}

function linesOf(
  errors: readonly (Fault & { path?: string })[],
  notes: readonly (Fault & { path?: string })[],
  style: Style,
): string[] {
  const line = (kind: string) => ({ path, offset, what }: Fault & { path?: string }) => {
    const where = [path, offset === undefined ? undefined : `byte ${offset}`].filter((each) => each !== undefined);
    return `  ${kind}: ${printable([...where, what].join(": "))}`;
  };
  const rest = notes.length - MAX_NOTES;
  return [
    ...errors.map(line(paint(style, "red", "error"))),
    ...notes.slice(0, MAX_NOTES).map(line("note")),
    ...rest > 0 ? [`  and ${count(rest, "note")} more`] : [],
  ];
}

function verdict(errors: number, style: Style): string {
  return errors === 0 ? paint(style, "green", "OK") : paint(style, "red", count(errors, "error"));
}
