import type { AlertDraft, AlertSeverity, AlertWords } from "./types.ts";

/** Key of a subject without a problem. */
export const OK = "ok";

/** Maximum number of subjects with a problem; beyond it the oldest is forgotten, and its recovery is not reported. */
export const MAX_SUBJECTS = 1024;

/** Condition of a subject. A change of the key causes an alert, a change of the text does not. */
export interface Condition extends AlertWords {
  readonly key: string;
}

/** The condition that was last reported of a subject, unless that was its recovery. */
export interface ReportedSubject {
  subject: string;
  key: string;
}

interface Entry {
  reportedKey: string;
  reportedMs: number;
  /** Undefined before anything was reported in this run. */
  reportedSeverity?: AlertSeverity;
  /** Undefined after a restart, until it is known. */
  current: Condition | undefined;
}

/**
 * The reported and the current condition of each subject. The first change is due at once. After that, nothing but a
 * warning that becomes critical is due for some time, then the current condition if it differs from the reported one.
 * Subjects without a problem take no memory. Pure.
 */
export class Subjects {
  readonly #entries = new Map<string, Entry>();

  /** @param reported conditions that an earlier run reported */
  constructor(reported: readonly ReportedSubject[] = []) {
    for (const { subject, key } of reported.slice(-MAX_SUBJECTS)) {
      this.#entries.set(subject, { reportedKey: key, reportedMs: -Infinity, current: undefined });
    }
  }

  /** Conditions to be stored for the next run. */
  get reported(): ReportedSubject[] {
    return [...this.#entries].filter(([, { reportedKey }]) => reportedKey !== OK)
      .map(([subject, { reportedKey: key }]) => ({ subject, key }));
  }

  /** Subjects with this prefix that may have a problem. */
  open(prefix: string): string[] {
    return [...this.#entries.keys()].filter((subject) => subject.startsWith(prefix));
  }

  /** Key that was last reported of a subject. */
  reportedKey(subject: string): string {
    return this.#entries.get(subject)?.reportedKey ?? OK;
  }

  /** Sets the current condition of a subject. */
  set(subject: string, condition: Condition): void {
    const entry = this.#entries.get(subject);
    if (entry) {
      entry.current = condition;
      return;
    }
    if (condition.key === OK) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= MAX_SUBJECTS) this.#entries.delete(oldest);
    this.#entries.set(subject, { reportedKey: OK, reportedMs: -Infinity, current: condition });
  }

  /** Alerts that are due now; each is returned once. */
  due(nowMs: number, windowMs: number): AlertDraft[] {
    const drafts: AlertDraft[] = [];
    for (const [subject, entry] of this.#entries) {
      const { current } = entry;
      const isWorse = entry.reportedSeverity === "warning" && current?.severity === "critical";
      if (nowMs < entry.reportedMs + windowMs && !isWorse) continue;
      if (current !== undefined && current.key !== entry.reportedKey) {
        const { key, ...alert } = current;
        drafts.push({ ...alert, subject });
        entry.reportedKey = key;
        entry.reportedMs = nowMs;
        entry.reportedSeverity = alert.severity;
      } else if (entry.reportedKey === OK) {
        this.#entries.delete(subject);
      }
    }
    return drafts;
  }
}
