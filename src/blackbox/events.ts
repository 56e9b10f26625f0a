/** An event whose frames are kept. */
export interface BlackBoxEvent {
  /** What happened, for programs: `bus_silence`, `mob`, `mark`. */
  kind: string;
  /** What it is about; one file for each subject and ten minutes. */
  subject: string;
  /** One sentence for people. */
  text: string;
  /** When it happened, microseconds since 1970. */
  timeUs: number;
}

/** Time between two files of one subject, milliseconds. */
export const SUBJECT_INTERVAL_MS = 10 * 60_000;
/** Subjects that are remembered; beyond it the oldest one is forgotten. */
const MAX_SUBJECTS = 4096;

/** The newest file of each subject. Pure: times are parameters, monotonic milliseconds. */
export class RecentSubjects {
  readonly #recent = new Map<string, { name: string; atMs: number }>();

  /** The file of the subject's event within the last ten minutes; undefined: there is none. */
  find(subject: string, nowMs: number): string | undefined {
    const known = this.#recent.get(subject);
    return known && nowMs - known.atMs < SUBJECT_INTERVAL_MS ? known.name : undefined;
  }

  /** Notes a new file. */
  note(subject: string, { name, atMs }: { name: string; atMs: number }): void {
    this.#recent.delete(subject);
    this.#recent.set(subject, { name, atMs });
    const [oldest] = this.#recent.keys();
    if (oldest !== undefined && this.#recent.size > MAX_SUBJECTS) this.#recent.delete(oldest);
  }
}
