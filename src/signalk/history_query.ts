import { errorText, parseDuration, parseTimestamp } from "../base/mod.ts";

/** How the values of one span of time become one. */
export const HISTORY_METHODS = [
  ...["average", "min", "max", "first", "last", "mid", "middle_index", "sma", "ema"] as const,
];
/** A method of the History API. */
export type HistoryMethod = typeof HISTORY_METHODS[number];

/** Most paths of a request. */
export const MAX_HISTORY_PATHS = 32;
/** Maximum length of a path in a request, characters. */
export const MAX_HISTORY_PATH_CHARS = 200;
/** Most samples of a moving average. */
export const MAX_SMA_SAMPLES = 1000;
const DEFAULT_SMA_SAMPLES = 5;
const DEFAULT_EMA_ALPHA = 0.2;

/** A path of a request, and its method. */
export interface HistoryPath {
  path: string;
  method: HistoryMethod;
  /** Samples of `sma`, weight of the newest sample of `ema`; 0 for other methods. */
  parameter: number;
}

/** Times of a request, inclusive, microseconds since 1970. */
export interface HistoryTimes {
  fromUs: number;
  toUs: number;
}

/** A checked request for values. */
export interface HistoryValuesQuery extends HistoryTimes {
  paths: HistoryPath[];
  /** Default `vessels.self`. */
  context: string;
  /** Width of a sample, milliseconds; undefined: by the length of the range. */
  resolutionMs: number | undefined;
  /** The sources apart; default: only the preferred one. */
  allSources: boolean;
}

/** A request that cannot be answered as asked. */
export class HistoryQueryError extends Error {
  override name = "HistoryQueryError";
  /** The parameter that is wrong. */
  readonly parameter: string;

  constructor(parameter: string, message: string) {
    super(message);
    this.parameter = parameter;
  }
}

/** Parameters by name: the last one counts. */
type Parameters = Pick<URLSearchParams, "getAll">;

/**
 * Reads a request for values. Parameters that the History API does not have are ignored.
 *
 * @throws {HistoryQueryError}
 */
export function parseHistoryValues(parameters: Parameters, { nowUs }: { nowUs: number }): HistoryValuesQuery {
  const policy = lastOf(parameters, "sourcePolicy");
  if (policy !== undefined && policy !== "all" && policy !== "preferred") {
    throw new HistoryQueryError("sourcePolicy", `expected all or preferred, got "${policy}"`);
  }
  const resolution = lastOf(parameters, "resolution");
  return {
    ...parseHistoryTimes(parameters, { nowUs }),
    paths: parsePaths(lastOf(parameters, "paths")),
    context: lastOf(parameters, "context") ?? "vessels.self",
    resolutionMs: resolution === undefined ? undefined : Math.max(1, Math.round(durationMs("resolution", resolution))),
    allSources: policy === "all",
  };
}

/**
 * The times of a request: `from` and `to`, or one of them and `duration`; what is left out is now.
 *
 * @throws {HistoryQueryError}
 */
export function parseHistoryTimes(parameters: Parameters, { nowUs }: { nowUs: number }): HistoryTimes {
  const [from, to] = [timeOf(parameters, "from"), timeOf(parameters, "to")];
  const text = lastOf(parameters, "duration");
  const durationUs = text === undefined ? undefined : Math.round(durationMs("duration", text) * 1000);
  if (durationUs === undefined) {
    if (from === undefined) throw new HistoryQueryError("from", "required unless there is a duration");
    return checked({ fromUs: from, toUs: to ?? nowUs });
  }
  if (from !== undefined && to !== undefined) {
    throw new HistoryQueryError("duration", "leave out one of from, to and duration");
  }
  if (from !== undefined) return checked({ fromUs: from, toUs: from + durationUs });
  return checked({ fromUs: (to ?? nowUs) - durationUs, toUs: to ?? nowUs });
}

/** Times that a journal may have: four digits for the year. */
const [EARLIEST_US, LATEST_US] = [Date.UTC(0, 0) * 1000, Date.UTC(9999, 11) * 1000];

function checked(times: HistoryTimes): HistoryTimes {
  const { fromUs, toUs } = times;
  if (!(fromUs < toUs)) throw new HistoryQueryError("from", "must be before the end of the range");
  if (fromUs < EARLIEST_US || toUs > LATEST_US) throw new HistoryQueryError("duration", "too long");
  // The whole millisecond, as clients write times.
  return { fromUs, toUs: Math.floor(toUs / 1000) * 1000 + 999 };
}

/** Empty parameters count as left out. */
function lastOf(parameters: Parameters, name: string): string | undefined {
  return parameters.getAll(name).at(-1) || undefined;
}

function timeOf(parameters: Parameters, name: string): number | undefined {
  const text = lastOf(parameters, name);
  const timeUs = text === undefined ? undefined : parseTimestamp(text);
  if (text !== undefined && timeUs === undefined) {
    throw new HistoryQueryError(name, `expected an RFC 3339 time such as 2026-01-02T03:04:05Z, got "${text}"`);
  }
  return timeUs;
}

/** Seconds, an ISO 8601 duration, or a text such as `1m`. */
function durationMs(name: string, text: string): number {
  let ms: number;
  try {
    ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : parseDuration(text);
  } catch (error) {
    throw new HistoryQueryError(name, `expected seconds or a duration: ${errorText(error)}`);
  }
  if (ms > 0 && Number.isSafeInteger(Math.round(ms * 1000))) return ms;
  throw new HistoryQueryError(name, `expected more than zero, got "${text}"`);
}

function parsePaths(text: string | undefined): HistoryPath[] {
  if (text === undefined) throw new HistoryQueryError("paths", "required: such as navigation.speedOverGround:average");
  const list = text.split(",", MAX_HISTORY_PATHS + 1);
  if (list.length > MAX_HISTORY_PATHS) throw new HistoryQueryError("paths", `expected at most ${MAX_HISTORY_PATHS}`);
  return list.map((each) => parsePath(each.trim()));
}

function parsePath(text: string): HistoryPath {
  const [path = "", name = "average", parameter, ...rest] = text.slice(0, MAX_HISTORY_PATH_CHARS + 1).split(":");
  const bad = (why: string) => new HistoryQueryError("paths", `"${text.slice(0, MAX_HISTORY_PATH_CHARS)}": ${why}`);
  if (path === "") throw bad("expected path:method:parameter, of which only the path is needed");
  if (text.length > MAX_HISTORY_PATH_CHARS) throw bad(`longer than ${MAX_HISTORY_PATH_CHARS} characters`);
  // KIP asks for avg.
  const method = name === "avg" ? "average" : HISTORY_METHODS.find((each) => each === name);
  if (!method) throw bad(`unknown method, expected one of ${HISTORY_METHODS.join(", ")}`);
  if (rest.length > 0) throw bad("expected one parameter");
  if (method === "sma") {
    const samples = parameter ? Number(parameter) : DEFAULT_SMA_SAMPLES;
    if (Number.isInteger(samples) && samples >= 1 && samples <= MAX_SMA_SAMPLES) {
      return { path, method, parameter: samples };
    }
    throw bad(`expected a whole number of samples from 1 to ${MAX_SMA_SAMPLES}`);
  }
  if (method === "ema") {
    const alpha = parameter ? Number(parameter) : DEFAULT_EMA_ALPHA;
    if (alpha > 0 && alpha <= 1) return { path, method, parameter: alpha };
    throw bad("expected a weight of the newest sample above 0, at most 1");
  }
  return { path, method, parameter: 0 };
}
