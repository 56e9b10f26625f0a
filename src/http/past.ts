import { parseTimestamp } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { formatTimeUs } from "../frame/mod.ts";
import type { Past, PastTables } from "../past/mod.ts";
import { urlWithoutToken } from "./auth.ts";
import type { HistorySource } from "./history/history.ts";
import { HistoryTurns } from "./history/turns.ts";
import { ApiError, badParameter, json, recordingOff } from "./reply.ts";

/** Dependencies of what was shown at a time. */
export interface PastSource extends Pick<HistorySource, "broker" | "clock" | "histories"> {
  /** Left out, or undefined: nothing is recorded. */
  past?: (() => Past | undefined) | undefined;
}

/** A client's clock may be ahead by this, microseconds. */
const AHEAD_US = 10_000_000;

/** Header with the time of the first message that the state contains. */
export const SINCE_HEADER = "State-Since";
/** Description of the headers of a reply about a time. */
export const SINCE_HEADERS: Readonly<Record<string, string>> = {
  [SINCE_HEADER]: "Only with at: time of the first message that is known; what was last sent before it is not shown",
};

/** Tables to read from. */
export interface ShownTables {
  broker: Broker;
  /** Adds the headers of a reply about a time. */
  marked: (response: Response) => Response;
  /** False: the counters of devices are not known. */
  isCounted: boolean;
  /** Undefined: the present. */
  past?: PastTables;
}

/**
 * The parameter `at` of an endpoint that ignores others, microseconds since 1970.
 *
 * @throws {ApiError} 400
 */
export function atOf(request: Request): number | undefined {
  const text = urlWithoutToken(request).searchParams.get("at");
  const at = text === null ? undefined : parseTimestamp(text);
  if (text === null || at !== undefined) return at;
  throw badParameter("at", `expected an RFC 3339 time such as 2026-01-02T03:04:05Z, got "${text}"`);
}

/**
 * The tables at a time, or the present ones.
 *
 * @param options.at microseconds since 1970; undefined: now
 * @throws {ApiError} 400: the time is in the future; 404: nothing was recorded before it; 503: nothing is recorded, or too many
 * requests wait
 */
export async function tablesAt(
  { broker, clock, past, histories = new HistoryTurns() }: PastSource,
  { at, request }: { at: number | undefined; request: Request },
): Promise<ShownTables> {
  if (at === undefined) return { broker, marked: (response) => response, isCounted: true };
  // Frames show their time in whole milliseconds: the state at the shown time must have them.
  const timeUs = Math.floor(at / 1000) * 1000 + 999;
  if (timeUs > clock.wallUs() + AHEAD_US) throw badParameter("at", `${formatTimeUs(at)} is in the future`);
  const source = past?.();
  if (!source) throw recordingOff();
  const release = await histories.take(request);
  try {
    const tables = await source.at(timeUs, { slice: () => histories.slice() });
    if (!tables) throw new ApiError(404, `Nothing was recorded at ${formatTimeUs(at)} or before`);
    const { sinceUs, isWhole: isCounted } = tables;
    const marked = (response: Response) => {
      if (sinceUs !== undefined) response.headers.set(SINCE_HEADER, formatTimeUs(sinceUs));
      return response;
    };
    return { broker: tables.broker, marked, isCounted, past: tables };
  } finally {
    release();
  }
}

/** Silence of all buses after which the journal is degraded, microseconds. */
const SILENT_US = 60_000_000;

/** What the journal says of the health at a time. @throws {ApiError} as {@linkcode tablesAt} */
export async function healthAt(source: PastSource, wanted: { at: number; request: Request }): Promise<Response> {
  const { past, broker, marked } = await tablesAt(source, wanted);
  const latestUs = past && past.latestUs > 0 ? past.latestUs : undefined;
  const isSilent = latestUs === undefined || wanted.at - latestUs > SILENT_US;
  const since = latestUs === undefined ? "" : ` since ${formatTimeUs(latestUs)}`;
  const status = isSilent ? "degraded" : "ok";
  return marked(json({
    status,
    broker: { status: "ok", head_seq: past?.position?.seq ?? 0, device_count: broker.registry.size },
    last_frame_at: latestUs === undefined ? null : formatTimeUs(latestUs),
    components: { journal: { status, ...(isSilent && { message: `nothing was recorded${since}` }) } },
  }));
}
