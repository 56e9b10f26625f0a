import { errorText, formatAddress, MAX_PORT, parseDuration } from "../../base/mod.ts";
import { RECORDING_FORMATS, type RecordingFormat } from "../recordings/mod.ts";

/** Options common to all sources. */
export interface BusSourceBase {
  /** Name of the bus. */
  name: string;
  /** Undefined: detected from the received data. */
  format: RecordingFormat | undefined;
  /** Name of the bus to use, if the lines name several (candump); undefined: the first one. */
  bus: string | undefined;
}

/** Source of a bus that is not a CAN interface. */
export type BusSource =
  /** `silenceMs`: silence after which the bus reconnects; 0: never. */
  | BusSourceBase & { type: "tcp"; hostname: string; port: number; silenceMs: number }
  /** `hostname`: the peer; undefined: receives from all, sends to the latest sender. */
  | BusSourceBase & { type: "udp"; hostname: string | undefined; port: number; listenPort: number }
  | BusSourceBase & { type: "serial"; path: string; baud: number }
  /** `speed`: speed factor, 0 as fast as possible. */
  | BusSourceBase & { type: "file"; path: string; speed: number };

/** A source is invalid; the message quotes it. */
export class BusSourceError extends Error {
  /** `BusSourceError`. */
  override name = "BusSourceError";
}

/** Silence after which a TCP connection counts as dead: a working bus has traffic every second. */
export const DEFAULT_SILENCE_MS = 30_000;

const FORMS =
  "tcp://host:port, udp://host:port, udp://:port, serial:///dev/ttyUSB0?baud=115200, file:///path or a path, each with " +
  "an optional #format";
const SOURCE = /^(tcp|udp|serial|file):\/\/([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/;
const PATH = /^(\.{0,2}\/[^?#]*)(?:\?([^#]*))?(?:#(.*))?$/;
/** Query parameters of each type, in addition to `name`, `format` and `bus`. */
const OPTIONS = { tcp: ["silence"], udp: ["listen"], serial: ["baud"], file: ["speed"] } as const;
const BUS_NAME = /^[^\s/,]{1,32}$/;
const BAUDS = [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600];
const DEFAULT_BAUD = 115_200;
const IKONVERT_BAUD = 230_400;

/** Whether the name of a bus is a source instead of an interface such as `can0`. */
export function isBusSource(name: string): boolean {
  return name.includes("://") || PATH.test(name);
}

/**
 * Parses a source.
 *
 * @throws {BusSourceError} the text is not a source, or has invalid parameters
 */
export function parseBusSource(text: string): BusSource {
  const fail = (why: string) => new BusSourceError(`Cannot use the bus "${text}": ${why}`);
  const [, type = "file", location = "", query = "", fragment = ""] = SOURCE.exec(text) ?? withoutType(PATH.exec(text));
  if (!isType(type) || location === "") throw fail(`expected ${FORMS}`);
  const options = new URLSearchParams(query);
  const known: readonly string[] = ["name", "format", "bus", ...OPTIONS[type]];
  for (const key of options.keys()) {
    if (!known.includes(key)) throw fail(`unknown parameter "${key}"; expected ${known.join(", ")}`);
  }
  const formatName = fragment || options.get("format");
  const format = RECORDING_FORMATS.find((each) => each === formatName);
  if (formatName && !format) throw fail(`unknown format "${formatName}"; expected ${RECORDING_FORMATS.join(", ")}`);
  const address = parseLocation(type, { location, options, format, fail });
  const name = options.get("name") ?? nameOf(address);
  if (!BUS_NAME.test(name)) throw fail(`"${name}" is not a bus name; set one with ?name=, at most 32 characters`);
  return { ...address, name, format, bus: options.get("bus") ?? undefined };
}

type SourceAddress = BusSource extends infer Each ? Each extends BusSource ? Omit<Each, keyof BusSourceBase> : never
  : never;

/** Inserts the missing type into the match of a path. */
function withoutType(match: RegExpExecArray | null): (string | undefined)[] {
  return match ? [match[0], undefined, ...match.slice(1)] : [];
}

function isType(type: string): type is BusSource["type"] {
  return Object.hasOwn(OPTIONS, type);
}

function parseLocation(
  type: BusSource["type"],
  { location, options, format, fail }: {
    location: string;
    options: URLSearchParams;
    format: RecordingFormat | undefined;
    fail: (why: string) => BusSourceError;
  },
): SourceAddress {
  const number = (key: string, otherwise: number, { fits, expected }: {
    fits: (value: number) => boolean;
    expected: string;
  }) => {
    const value = options.has(key) ? Number(options.get(key) || NaN) : otherwise;
    if (!fits(value)) throw fail(`${key} "${options.get(key)}" is not ${expected}`);
    return value;
  };
  const isPort = { fits: isPortNumber, expected: `a port, 1 to ${MAX_PORT}` };
  switch (type) {
    case "tcp":
    case "udp": {
      const [, bracketed, plain, digits] = /^(?:\[([\da-f:.%]+)\]|([\w.-]*)):(\d{1,5})$/i.exec(location) ?? [];
      const [hostname, port] = [bracketed || plain || undefined, Number(digits)];
      if (!isPortNumber(port)) throw fail(`expected host:port, port 1 to ${MAX_PORT}`);
      if (type === "udp") return { type, hostname, port, listenPort: number("listen", port, isPort) };
      if (hostname === undefined) throw fail("expected host:port");
      return { type, hostname, port, silenceMs: silenceOf(options.get("silence"), fail) };
    }
    case "serial": {
      if (!location.startsWith("/")) throw fail("expected the path of a device, such as serial:///dev/ttyUSB0");
      const usual = format === "ikonvert" ? IKONVERT_BAUD : DEFAULT_BAUD;
      const isBaud = { fits: (value: number) => BAUDS.includes(value), expected: `one of ${BAUDS.join(", ")}` };
      return { type, path: location, baud: number("baud", usual, isBaud) };
    }
    case "file": {
      const isSpeed = { fits: (value: number) => value >= 0 && value < Infinity, expected: "0 or more" };
      return { type, path: location, speed: number("speed", 1, isSpeed) };
    }
  }
}

function isPortNumber(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= MAX_PORT;
}

function silenceOf(text: string | null, fail: (why: string) => BusSourceError): number {
  if (text === null) return DEFAULT_SILENCE_MS;
  if (text === "0") return 0;
  try {
    return parseDuration(text);
  } catch (error) {
    throw fail(`silence: ${errorText(error)}`);
  }
}

function nameOf(location: SourceAddress): string {
  switch (location.type) {
    case "tcp":
      return formatAddress(location);
    case "udp":
      return formatAddress({ hostname: location.hostname ?? "udp", port: location.port });
    case "serial":
    case "file":
      return location.path.slice(location.path.lastIndexOf("/") + 1);
  }
}
