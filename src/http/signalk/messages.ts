import { z } from "zod";
import type { PathSubscription, Subscriptions } from "../../signalk/mod.ts";

/** Patterns of paths that one client may subscribe to. */
export const MAX_SUBSCRIPTIONS = 128;
/** Longest pattern, characters. */
const MAX_PATTERN = 256;
/** Period of a subscription that tells none, milliseconds. */
const DEFAULT_PERIOD_MS = 1000;
/** Longest period, milliseconds. */
const MAX_PERIOD_MS = 86_400_000;

/** Most `*` in a pattern: each part between two of them is searched for. */
const MAX_STARS = 8;
const pattern = z.string().max(MAX_PATTERN).refine((text) => text.split(/\*+/).length <= MAX_STARS + 1);
const periodMs = z.number().min(0).max(MAX_PERIOD_MS);
const policies = ["instant", "ideal", "fixed"] as const;

const rowSchema = z.object({
  path: pattern.default("*"),
  period: periodMs.optional(),
  minPeriod: periodMs.optional(),
  policy: z.enum(policies).optional().catch(undefined),
  format: z.string().optional(),
});

/** A message of a client: any of its parts may be left out. */
const messageSchema = z.object({
  context: pattern.default("vessels.self"),
  subscribe: z.array(rowSchema).optional(),
  unsubscribe: z.array(z.object({ path: pattern.default("*") })).optional(),
  sourcePolicy: z.enum(["preferred", "all"]).optional(),
  requestId: z.string().max(MAX_PATTERN).optional(),
  put: z.unknown().optional(),
  delete: z.unknown().optional(),
  login: z.object({ username: z.string().optional(), password: z.string() }).optional(),
  logout: z.unknown().optional(),
  validate: z.unknown().optional(),
});

/** A message of a client of the stream. */
export type ClientMessage = z.output<typeof messageSchema>;

/** Parses a message; undefined: it is not one. */
export function readMessage(text: string): ClientMessage | undefined {
  try {
    return messageSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Subscriptions of a new client by `subscribe` in its URL. */
export function firstSubscriptions(
  { subscribe, metadata, sources }: {
    subscribe: "self" | "all" | "none";
    metadata: boolean;
    sources: PathSubscription["sources"];
  },
): Subscriptions {
  const row = { path: "*", policy: "instant", periodMs: 0, minPeriodMs: 0, sources } as const;
  if (subscribe === "none") return { rows: [], metadata };
  return { rows: [{ context: subscribe === "self" ? "vessels.self" : "*", ...row }], metadata };
}

/** The subscriptions after a message. A row replaces an earlier one with the same patterns. */
export function changedSubscriptions(known: Subscriptions, message: ClientMessage): Subscriptions {
  const { context, subscribe = [], unsubscribe = [], sourcePolicy: sources = "preferred" } = message;
  const added = subscribe.map((row) => subscriptionOf(row, { context, sources }));
  const isReplaced = (row: PathSubscription) =>
    added.some((each) => each.context === row.context && each.path === row.path);
  const isEnded = (row: PathSubscription) =>
    unsubscribe.some(({ path }) => covers(context, row.context) && covers(path, row.path));
  return { ...known, rows: [...known.rows.filter((row) => !isEnded(row) && !isReplaced(row)), ...added] };
}

function subscriptionOf(
  { path, period, minPeriod = 0, policy }: z.output<typeof rowSchema>,
  { context, sources }: Pick<PathSubscription, "context" | "sources">,
): PathSubscription {
  return {
    context,
    path,
    sources,
    // As signalk-server has it: who tells a period wants one value for each.
    policy: policy ?? (period === undefined ? "instant" : "fixed"),
    periodMs: period ?? DEFAULT_PERIOD_MS,
    minPeriodMs: minPeriod,
  };
}

/** Whether a pattern to unsubscribe from covers a subscribed one. */
function covers(pattern: string, subscribed: string): boolean {
  return pattern === "*" || pattern === subscribed;
}
