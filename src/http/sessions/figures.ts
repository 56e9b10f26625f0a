import type { SessionFigures } from "../../stream/mod.ts";
import type { Figure } from "../status/figure.ts";

/** Counters of replaced and refused sessions. */
export function sessionCounters(figures: () => Readonly<SessionFigures> | undefined): Figure[] {
  return [
    {
      kind: "counter",
      name: "vbg_sessions_replaced_total",
      help: "Unread sessions that were replaced by new ones",
      read: () => [[figures()?.replaced ?? 0, {}]],
    },
    {
      kind: "counter",
      name: "vbg_sessions_refused_total",
      help: "Sessions refused, by the limit that was reached",
      read: () => [
        [figures()?.refused.owner ?? 0, { limit: "owner" }],
        [figures()?.refused.total ?? 0, { limit: "total" }],
      ],
    },
  ];
}
