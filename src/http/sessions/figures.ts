import type { SessionFigures } from "../../stream/mod.ts";
import type { Figure } from "../status/figure.ts";

/** What is counted of sessions that had to go, or could not be made. */
export function sessionCounters(figures: () => Readonly<SessionFigures> | undefined): Figure[] {
  return [
    {
      kind: "counter",
      name: "vbg_sessions_replaced_total",
      help: "Sessions that were never read and gave way to others",
      read: () => [[figures()?.replaced ?? 0, {}]],
    },
    {
      kind: "counter",
      name: "vbg_sessions_refused_total",
      help: "Sessions not made, by the limit that was reached",
      read: () => [
        [figures()?.refused.owner ?? 0, { limit: "owner" }],
        [figures()?.refused.total ?? 0, { limit: "total" }],
      ],
    },
  ];
}
