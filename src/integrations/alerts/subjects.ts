import type { AlertDraft, AlertSeverity, AlertWords } from "./types.ts";

/** Key of a subject that is as it should be. */
export const WELL = "ok";

/** Subjects that are remembered; beyond that the oldest is forgotten, and its recovery is not told. */
export const MAX_SUBJECTS = 1024;

/** How a subject is: a change of the key is worth an alert, other words are not. */
export interface Condition {
  readonly key: string;
  readonly alert: AlertWords;
}

/** What was told of a subject last, where that is not that it is well. */
export interface ToldSubject {
  subject: string;
  key: string;
}

interface Entry {
  told: string;
  toldMs: number;
  /** Undefined before anything was sent in this run. */
  toldSeverity?: AlertSeverity;
  /** Undefined after a restart, until it is known. */
  now: Condition | undefined;
}

/**
 * What was told of each subject, and what there is to tell: its first change at once, then nothing for a while but that a
 * warning has become critical, then how it is if that is not what was told last. What is well and has not changed takes no memory. Pure.
 */
export class Subjects {
  readonly #entries = new Map<string, Entry>();

  /** @param told of an earlier run */
  constructor(told: readonly ToldSubject[] = []) {
    for (const { subject, key } of told.slice(-MAX_SUBJECTS)) {
      this.#entries.set(subject, { told: key, toldMs: -Infinity, now: undefined });
    }
  }

  /** What a restart should know. */
  get told(): ToldSubject[] {
    return [...this.#entries].filter(([, { told }]) => told !== WELL)
      .map(([subject, { told }]) => ({ subject, key: told }));
  }

  /** Subjects of a kind that may not be well. */
  open(prefix: string): string[] {
    return [...this.#entries.keys()].filter((subject) => subject.startsWith(prefix));
  }

  /** Key of what was told of a subject last. */
  toldOf(subject: string): string {
    return this.#entries.get(subject)?.told ?? WELL;
  }

  /** Takes note of how a subject is now. */
  note(subject: string, condition: Condition): void {
    const entry = this.#entries.get(subject);
    if (entry) {
      entry.now = condition;
      return;
    }
    if (condition.key === WELL) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= MAX_SUBJECTS) this.#entries.delete(oldest);
    this.#entries.set(subject, { told: WELL, toldMs: -Infinity, now: condition });
  }

  /** What is to be told now, once. */
  due(nowMs: number, windowMs: number): AlertDraft[] {
    const drafts: AlertDraft[] = [];
    for (const [subject, entry] of this.#entries) {
      const isWorse = entry.toldSeverity === "warning" && entry.now?.alert.severity === "critical";
      if (nowMs < entry.toldMs + windowMs && !isWorse) continue;
      if (entry.now !== undefined && entry.now.key !== entry.told) {
        drafts.push({ ...entry.now.alert, subject });
        entry.told = entry.now.key;
        entry.toldMs = nowMs;
        entry.toldSeverity = entry.now.alert.severity;
      } else if (entry.told === WELL) {
        this.#entries.delete(subject);
      }
    }
    return drafts;
  }
}
