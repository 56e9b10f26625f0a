import { z } from "zod";
import type { Clock } from "../base/mod.ts";
import { type Ledger, type LedgerRange, ledgerReport } from "../ledger/mod.ts";
import { apiText, described, named } from "./api_text.ts";
import type { HistoryTurns } from "./history/turns.ts";
import { last, timeText } from "./params.ts";
import { ApiError, badParameter, json } from "./reply.ts";
import { type Route, route } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

const count = z.int().nonnegative();
const difference = z.int();
const time = described(z.string(), { format: "date-time" });
const ifReplicated = described(count.nullable(), "Null: nothing is replicated");

function timeOrNull(description: string) {
  return described(z.string().nullable(), { description, format: "date-time" });
}

const framesSchema = z.object({
  received: described(difference, "Counted by the kernel or the gateway; those that it dropped included"),
  dropped: difference,
  incomplete: described(z.record(z.string(), difference), "Frames that became no message, by reason"),
  in_messages: described(difference, "Frames of numbered messages"),
  waiting: described(difference, "Frames that wait for the rest of their message at the end, less those at the start"),
});

const messagesSchema = z.object({
  numbered: difference,
  recorded: difference,
  acknowledged: ifReplicated,
  stored: described(
    count.nullable(),
    "In the cloud's store; without a store, on its disk. Null: nothing is replicated",
  ),
  missing: described(z.record(z.string(), difference), "Numbered and not recorded, by reason"),
});

const unknownSchema = z.object({
  from: time,
  to: time,
  reason: z.string(),
  recorded: described(count, "Messages of this time that are recorded all the same"),
  acknowledged: ifReplicated,
  stored: ifReplicated,
  interface_frames: described(count.nullable(), "Frames that the interface counted meanwhile; null: not known"),
});

/** Body of `GET /ledger`. */
export const ledgerSchema = named("Ledger", {
  from: described(
    time.nullable(),
    "Begin of the figures: from, or earlier, where counters are known; null: nothing is",
  ),
  to: timeOrNull("End of the figures: to, or later, where counters are known"),
  closed: described(z.boolean(), "Every bus is closed"),
  buses: z.array(z.object({
    bus: described(z.string().nullable(), "Null: all buses together"),
    frames: described(framesSchema.nullable(), "Null: only the boat knows them"),
    messages: messagesSchema,
    unknown: described(z.array(unknownSchema), "Times of which it is not known what came"),
    closed: described(
      z.boolean(),
      "received = dropped + incomplete + in_messages + waiting, and numbered = recorded + missing",
    ),
    off: described(z.object({ frames: difference, messages: difference }), "By how much they differ"),
  })),
});

/** Parameters of a ledger; times are in microseconds since 1970. */
export const ledgerQuery = z.object({
  from: timeText.optional().transform(last)
    .clone().register(apiText, {
      type: "string",
      format: "date-time",
      description: "Begin; default 24 h before the end",
    }),
  to: timeText.optional().transform(last)
    .clone().register(apiText, { type: "string", format: "date-time", description: "End; default now" }),
});

/** Text of the ledger for the API description. */
export const LEDGER_SUMMARY = "What became of every frame and message of a time range, bus by bus: counted, dropped, " +
  "incomplete, recorded, in the cloud, missing, each with its reason. The range is widened to the next moments with known " +
  "counters; nothing is interpolated";

/** Dependencies of the ledger. */
export interface LedgerApi {
  clock: Pick<Clock, "wallUs">;
  histories: HistoryTurns;
  /** Reads the ledger of a range; left out: the server has none. */
  ledger?: ((range: LedgerRange, signal: AbortSignal) => Promise<Ledger>) | undefined;
}

/** Range of a ledger if no start is given, microseconds. */
const DEFAULT_RANGE_US = 86_400_000_000;

/** Fills in the defaults of a query. @throws {ApiError} 400: `to` is before `from` */
export function ledgerRange({ from, to }: z.output<typeof ledgerQuery>, nowUs: number): LedgerRange {
  const fromUs = from ?? (to ?? nowUs) - DEFAULT_RANGE_US;
  if (to !== undefined && to < fromUs) throw badParameter("to", `is before "from"`);
  return { fromUs, ...(to !== undefined && { toUs: to }) };
}

/** `GET /ledger` of a boat. */
export function ledgerRoute({ clock, histories, ledger }: LedgerApi): Route {
  return route({
    path: "/ledger",
    summary: LEDGER_SUMMARY,
    query: ledgerQuery,
    replies: { 200: ["application/json", ledgerSchema], 404: PROBLEM, 503: PROBLEM },
    answer: async (request, query) => {
      const range = ledgerRange(query, clock.wallUs());
      if (!ledger) throw new ApiError(404, "There is no ledger: nothing is received here, only played");
      const release = await histories.take(request);
      try {
        return json(ledgerReport(await ledger(range, request.signal)));
      } finally {
        release();
      }
    },
  });
}
