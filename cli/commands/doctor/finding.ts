/** How one thing is. `skip`: nobody asked for it, or it cannot be looked at here. */
export type FindingState = "ok" | "warn" | "fail" | "skip";

/** One thing that was looked at. */
export interface Finding {
  /** What was looked at, such as `journal directory`. */
  name: string;
  state: FindingState;
  /** How it is, and what to do about it. */
  text: string;
}
