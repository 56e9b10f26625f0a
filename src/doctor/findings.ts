import { formatName, formatTimeUs } from "../frame/mod.ts";
import { type Finding, FINDING_KINDS, type FrameReference, type KindRow, type Severity } from "./kinds.ts";
import type { Report } from "./model.ts";

/** A finding has begun, has become more or less severe, or has ended. */
export interface FindingEvent {
  event: "found" | "changed" | "ended";
  /** Identifies the finding. */
  key: string;
  finding: Finding;
}

/** Most findings, beyond which new ones are dropped: a table of that length helps nobody. */
export const MAX_FINDINGS = 256;
/** While a cause is not confirmed, it must be seen again within this time, milliseconds. */
const PENDING_GAP_MS = 5000;
const MAX_FRAMES = 3;
const DEFAULT_CONFIDENCE = 0.9;

interface Entry {
  readonly row: KindRow;
  readonly finding: Finding;
  readonly sinceMs: number;
  lastMs: number;
  isFound: boolean;
}

/** The current findings. A cause becomes a finding when it has lasted; a finding ends some time after its cause. */
export class Findings {
  readonly #entries = new Map<string, Entry>();
  readonly #epoch: () => string | undefined;
  readonly #listeners = new Set<(event: FindingEvent) => void>();
  #dropped = 0;

  /** @param epoch returns the epoch of the newest frames */
  constructor(epoch: () => string | undefined) {
    this.#epoch = epoch;
  }

  /** Findings that were dropped because there were too many. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Calls `listener` whenever a finding begins or ends. */
  listen(listener: (event: FindingEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notes that a cause is there. */
  report(report: Report, { nowMs, nowUs }: { nowMs: number; nowUs: number }): void {
    const key = keyOf(report);
    let entry = this.#entries.get(key);
    if (entry && isOver(entry, nowMs)) entry = this.#end(key, entry);
    if (!entry) {
      if (this.#entries.size >= MAX_FINDINGS) {
        this.#dropped++;
        return;
      }
      const row: KindRow = FINDING_KINDS[report.kind];
      entry = { row, finding: newFinding(report, { row, nowUs }), sinceMs: nowMs, lastMs: nowMs, isFound: false };
      this.#entries.set(key, entry);
    }
    const { severity } = entry.finding;
    this.#update(entry, report, nowUs);
    entry.lastMs = nowMs;
    if (entry.isFound && entry.finding.severity !== severity) this.#notify("changed", { key, ...entry });
    if (entry.isFound || nowMs - entry.sinceMs < entry.row.confirmMs) return;
    entry.isFound = true;
    this.#notify("found", { key, ...entry });
  }

  /** Ends findings whose cause is gone. */
  expire(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (isOver(entry, nowMs)) this.#end(key, entry);
    }
  }

  /** The findings, the worst first, and of these the oldest. */
  list(): Finding[] {
    const order: readonly Severity[] = ["critical", "warning", "info"];
    return [...this.#entries.values()].filter(({ isFound }) => isFound).map(({ finding }) => copyOf(finding))
      .sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || (a.since < b.since ? -1 : 1));
  }

  #end(key: string, entry: Entry): undefined {
    this.#entries.delete(key);
    if (entry.isFound) this.#notify("ended", { key, ...entry });
  }

  #update({ finding }: Entry, { sender, text, confidence, severity, seqs = [] }: Report, nowUs: number): void {
    finding.last_seen = formatTimeUs(nowUs);
    finding.text = sentence(text);
    if (sender) finding.src = sender.src;
    if (confidence !== undefined) finding.confidence = confidence;
    if (severity !== undefined) finding.severity = severity;
    const epoch = this.#epoch();
    const known = finding.frames;
    for (const seq of seqs) {
      if (seq <= 0 || known.some((frame) => frame.seq === seq && frame.epoch === epoch)) continue;
      known.push({ ...(epoch !== undefined && { epoch }), seq });
      // The first frame shows how it began, the others how it is now.
      if (known.length > MAX_FRAMES) known.splice(1, 1);
    }
  }

  #notify(event: FindingEvent["event"], { key, finding }: Pick<Entry, "finding"> & { key: string }): void {
    for (const listener of this.#listeners) listener({ event, key, finding: copyOf(finding) });
  }
}

/** True if a cause has not been seen for its end time. */
function isOver({ row: { endMs, confirmMs }, isFound, lastMs }: Entry, nowMs: number): boolean {
  return nowMs - lastMs > (isFound ? endMs : Math.max(PENDING_GAP_MS, confirmMs / 2));
}

function keyOf({ kind, bus, sender, absent, pgn, detail = "" }: Report): string {
  const name = sender?.name ?? absent?.name;
  return [kind, bus.index, name === undefined ? sender?.src ?? "" : formatName(name), pgn ?? "", detail].join("/");
}

function newFinding(
  { kind, bus, sender, absent, pgn, text, confidence, severity, advice }: Report,
  { row, nowUs }: { row: KindRow; nowUs: number },
): Finding {
  const name = sender?.name ?? absent?.name;
  const src = sender?.src ?? absent?.src;
  return {
    kind,
    severity: severity ?? row.severity,
    bus: bus.name,
    ...(src !== undefined && { src }),
    ...(name !== undefined && { name: formatName(name) }),
    ...(pgn !== undefined && { pgn }),
    since: formatTimeUs(nowUs),
    last_seen: formatTimeUs(nowUs),
    confidence: confidence ?? DEFAULT_CONFIDENCE,
    text: sentence(text),
    advice: `${advice ?? row.advice}.`,
    frames: [],
  };
}

/** A text that may begin with the name of a device. */
function sentence(text: string): string {
  return text.replace(/^the /, "The ");
}

function copyOf(finding: Finding): Finding {
  const frames: FrameReference[] = finding.frames.map((frame) => ({ ...frame }));
  return { ...finding, frames };
}
