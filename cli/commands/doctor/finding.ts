/** Result of one check. `skip`: not requested, or not possible here. */
export type FindingState = "ok" | "warn" | "fail" | "skip";

/** A check and its result. */
export interface Finding {
  /** Subject of the check, such as `journal directory`. */
  name: string;
  state: FindingState;
  /** Details, and what to do about a problem. */
  text: string;
}
