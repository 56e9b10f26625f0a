import {
  BOAT_DEFAULTS,
  type ConnectionOptions,
  type ServerLimits,
  type ServerOptions,
  type Slot,
} from "@vessel/gateway/boat";
import type { ConnectionSettings } from "./connection_options.ts";
import { OptionGroup, reloadable } from "./option_types.ts";
import { pick, type SettingsOf } from "./options.ts";
import { readSlots } from "./slots.ts";

const sessions = new OptionGroup("Sessions");
const network = new OptionGroup("Network");
/** Divisor of the machine's memory for the default. */
const PART = 16;
/** Lower bound of the default. */
export const MIN_STREAM_MEMORY_BYTES = 32 * 2 ** 20;
const MAX_DEFAULT_BYTES = 2 ** 30;
/** Memory limits of control groups: version 2, version 1. Absent outside of a control group. */
const CGROUP_LIMITS = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
const MIN_BODY_BYTES = 1024;

/** Options of sessions and of requests, the same for every server. */
export const sessionOptions = {
  maxSessions: reloadable(sessions.integer({
    name: "max-sessions",
    beyond:
      "The oldest session that was never read, of the owner that has the most, is replaced if that owner has more than " +
      "the client; otherwise 503 with Retry-After.",
    default: BOAT_DEFAULTS.maxSessions,
    min: 1,
    max: 1_000_000,
    help: "Most sessions of clients, slots not counted.",
  })),
  maxSessionsPerOwner: reloadable(sessions.integer({
    name: "max-sessions-per-owner",
    beyond: "The client's oldest session that was never read is replaced; where all were read: 429 with Retry-After. " +
      "Counted in vbg_sessions_replaced_total and vbg_sessions_refused_total.",
    default: BOAT_DEFAULTS.maxSessionsPerOwner,
    min: 1,
    max: 1_000_000,
    help:
      "Most sessions of one token; where there are no tokens: of one IPv4 address or IPv6 network (/64). Slots not counted.",
  })),
  maxBufferDurationMs: reloadable(sessions.duration({
    name: "max-buffer-duration",
    beyond: "A longer buffer_timeout is cut to it; the reply says which one applies.",
    default: BOAT_DEFAULTS.maxBufferDurationMs,
    minMs: 1000,
    help: "Longest time that a session is kept while its client is away; limits what the client requests.",
  })),
  maxBodyBytes: network.size({
    name: "max-body-bytes",
    beyond: "413.",
    default: BOAT_DEFAULTS.maxBodyBytes,
    minBytes: MIN_BODY_BYTES,
    maxBytes: 2 ** 24,
    help: "Longest body of a request; a longer one gets 413.",
  }),
  bodyTimeoutMs: network.duration({
    name: "body-timeout",
    beyond: "408.",
    default: BOAT_DEFAULTS.bodyTimeoutMs,
    minMs: 10,
    maxMs: 3_600_000,
    help: "Longest time that the body of a request may take; a slower one gets 408.",
  }),
  streamMemoryBytes: network.size({
    name: "stream-memory",
    beyond: "The longest queues are dropped first, and their clients get a dropped event with the range. When what " +
      "cannot be dropped uses it up, a further stream gets 503 with Retry-After.",
    default: { compute: defaultStreamMemory, text: "a sixteenth of the memory, 32MiB to 1GiB" },
    minBytes: 2 ** 20,
    help: "Memory for data that waits for the clients of all streams together.",
  }),
  maxHistoryRequests: reloadable(network.integer({
    name: "max-history-requests",
    beyond: "A request waits; if 32 wait already, 503 with Retry-After.",
    default: BOAT_DEFAULTS.maxHistoryRequests,
    min: 1,
    max: 1000,
    help: "Most requests for /history, /series and /voyages that are answered at once.",
  })),
  slots: sessions.structured<readonly Slot[]>({
    name: "slots",
    key: "clients.slots",
    default: [],
    help:
      "Sessions that exist from the start and are never removed: a list of { id, buffer-timeout, filter { pgn, exclude-pgn, " +
      "manufacturer, instance, name, exclude-name, bus } }.",
    parse: (value) => readSlots(value, { path: "clients.slots", joint: "-" }),
    format: (slots) => slots.length === 0 ? undefined : slots.map(({ id }) => id).join(","),
  }),
};

/** Settings of sessions and of request bodies. */
export type SessionSettings = SettingsOf<typeof sessionOptions>;

/** Limits that every server reads from settings of the same name. */
type CommonLimits = Omit<ServerLimits, "tokens">;
/** Options that every server reads from settings of the same name. */
type CommonOptions = Required<Omit<ServerOptions, keyof ConnectionOptions | "seriesPgns" | "log" | "clock">>;

/** The limits that every server has in common. */
export function serverLimits(settings: CommonLimits): CommonLimits {
  return pick(settings, [
    ...(["allowOrigins", "deviceIdleTimeoutMs", "maxStreams", "maxHistory", "maxHistoryRequests"] as const),
    ...(["maxSeriesPoints", "maxSeriesScan"] as const),
    ...(["maxSessions", "maxSessionsPerOwner", "maxBufferDurationMs"] as const),
  ]);
}

/** The other options that every server has in common. */
export function serverOptionsOf(
  settings: CommonOptions & ConnectionSettings,
): CommonOptions & Required<ConnectionOptions> {
  return pick(settings, [
    ...(["streamBufferBytes", "streamMemoryBytes", "maxBodyBytes", "bodyTimeoutMs", "maxConnections"] as const),
    ...(["maxHandshakes", "maxHandshakesPerAddress", "handshakeTimeoutMs", "connectionIdleTimeoutMs"] as const),
    "trustedProxies",
  ]);
}

/** The default of `-stream-memory`, bytes: a sixteenth of the memory of the machine or its control group. */
export function defaultStreamMemory(): number {
  return streamMemoryOf([machineBytes(), ...CGROUP_LIMITS.map(readLimit)]);
}

/** A sixteenth of the least of these amounts within 32 MiB and 1 GiB, in whole MiB; unknown ones are undefined. */
export function streamMemoryOf(amounts: readonly (number | undefined)[]): number {
  const known = amounts.filter((bytes) => bytes !== undefined);
  const part = Math.min(...known) / PART;
  const bytes = Math.min(MAX_DEFAULT_BYTES, Math.max(MIN_STREAM_MEMORY_BYTES, Number.isFinite(part) ? part : 0));
  return Math.floor(bytes / 2 ** 20) * 2 ** 20;
}

function machineBytes(): number | undefined {
  try {
    return Deno.systemMemoryInfo().total;
  } catch {
    // Not permitted, or not supported here.
    return undefined;
  }
}

function readLimit(path: string): number | undefined {
  try {
    const text = Deno.readTextFileSync(path).trim();
    return /^\d+$/.test(text) ? Number(text) : undefined;
  } catch {
    // No such control group, or no permission to read it.
    return undefined;
  }
}
