/** `vbg doctor -bus`: what is wrong on the buses of a server or in recordings. */
import type { NetworkFinding, NetworkReport } from "@vessel/gateway/client";
import { newStoredFrame, pgnOfId, sourceOfId } from "@vessel/gateway/frame";
import { readRecorded, RecordedDoctor, RecordedMonotonic } from "@vessel/gateway/recordings";
import { untilStopped } from "../../program/interrupt.ts";
import { EXIT } from "../../program/program.ts";
import { type Output, paint, printable, type Style } from "../../program/terminal.ts";
import { nothingText } from "./nothing.ts";
import { findInputs, type RecordedChoice, summaryNote, warningsTo } from "../dump/recorded_inputs.ts";

const STYLES: Readonly<Record<NetworkFinding["severity"], Style>> = { critical: "red", warning: "yellow", info: "dim" };

/** Everything that is found in recordings. @throws {OfflineError} one cannot be read */
export async function checkRecordings(choice: RecordedChoice): Promise<NetworkReport> {
  await using opened = new AsyncDisposableStack();
  const { note, signal } = choice;
  const inputs = await findInputs(choice, opened);
  const monotonic = new RecordedMonotonic();
  const doctor = new RecordedDoctor((timeUs) => monotonic.at(timeUs));
  const options = {
    log: warningsTo(note),
    onSummary: summaryNote(note),
    onIncomplete: (bus: number, id: number) => doctor.incomplete({ bus, src: sourceOfId(id), pgn: pgnOfId(id) }),
  };
  const frame = newStoredFrame();
  let isEmpty = true;
  for await (const part of untilStopped(readRecorded(inputs, options), signal)) {
    doctor.enter(part.buses);
    while (part.next(frame, (device) => doctor.learn(device))) {
      isEmpty = false;
      doctor.add(frame);
    }
  }
  if (isEmpty) note("no frames found");
  return { findings: doctor.findings(), buses: doctor.loads() };
}

/** Prints a report. Returns the exit code. */
export async function printReport(
  { findings, buses }: NetworkReport,
  { output, isJson }: { output: Output; isJson: boolean },
): Promise<number> {
  const hasFailed = findings.some(({ severity }) => severity !== "info");
  if (isJson) {
    await output.write(`${JSON.stringify({ ok: !hasFailed, findings, buses })}\n`);
    return hasFailed ? EXIT.failure : EXIT.ok;
  }
  for (const { bus, load_percent: load, peak_percent: peak, peak_at: at } of buses) {
    await output.write(
      printable(`${bus}: load ${load} %, at most ${peak} %${at ? ` at ${shortTime(at)}` : ""}`) + "\n",
    );
  }
  for (const finding of findings) await output.write(findingText(finding, output));
  if (findings.length === 0) await output.write(`${nothingText(buses)}\n`);
  return hasFailed ? EXIT.failure : EXIT.ok;
}

function findingText({ severity, since, confidence, text, advice }: NetworkFinding, output: Output): string {
  const head = paint(output, STYLES[severity], `[${severity.toUpperCase()}]`);
  const facts = paint(output, "dim", `(since ${shortTime(since)}, ${Math.round(confidence * 100)} % sure)`);
  return `${head} ${printable(text)} ${facts}\n  ${printable(advice)}\n`;
}

/** A time without its fraction of a second. */
function shortTime(time: string): string {
  return time.replace("T", " ").replace(/\.\d+Z$/, " UTC");
}
