import { errorText, formatAddress, MAX_PORT, parseDuration } from "../../base/mod.ts";
import { RECORDING_FORMATS, type RecordingFormat } from "../recordings/mod.ts";

/** What every source may say. */
export interface BusSourceBase {
  /** Name of the bus. */
  name: string;
  /** Undefined: it shows with what comes. */
  format: RecordingFormat | undefined;
  /** The one bus to take of those that the lines name (candump); undefined: the first. */
  bus: string | undefined;
}

/** Where a bus that is no interface comes from. */
export type BusSource =
  /** `silenceMs`: a connection on which nothing came for so long is made anew; 0 never. */
  | BusSourceBase & { type: "tcp"; hostname: string; port: number; silenceMs: number }
  /** `hostname`: who is listened and sent to; undefined is everybody, and who spoke last. */
  | BusSourceBase & { type: "udp"; hostname: string | undefined; port: number; listenPort: number }
  | BusSourceBase & { type: "serial"; path: string; baud: number }
  /** `speed`: times its own time, 0 as fast as it can be read. */
  | BusSourceBase & { type: "file"; path: string; speed: number };

/** A bus cannot be made of what was said; the message quotes it. */
export class BusSourceError extends Error {
  /** `BusSourceError`. */
  override name = "BusSourceError";
}

/** Silence after which a TCP connection is taken for dead: on a bus that lives, something is said every second. */
export const DEFAULT_SILENCE_MS = 30_000;

const FORMS =
  "tcp://host:port, udp://host:port, udp://:port, serial:///dev/ttyUSB0?baud=115200, file:///path or a path, each with " +
  "#format if it is to be told";
const SOURCE = /^(tcp|udp|serial|file):\/\/([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/;
const PATH = /^(\.{0,2}\/[^?#]*)(?:\?([^#]*))?(?:#(.*))?$/;
/** What a source of each type may say behind its question mark, beside `name`, `format` and `bus`. */
const OPTIONS = { tcp: ["silence"], udp: ["listen"], serial: ["baud"], file: ["speed"] } as const;
const BUS_NAME = /^[^\s/,]{1,32}$/;
const BAUDS = [4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600];
const DEFAULT_BAUD = 115_200;
const IKONVERT_BAUD = 230_400;

/** Whether the name of a bus is a source, and not an interface such as `can0`. */
export function isBusSource(name: string): boolean {
  return name.includes("://") || PATH.test(name);
}

/**
 * Reads a source.
 *
 * @throws {BusSourceError} it is none, or says what its type does not know
 */
export function parseBusSource(text: string): BusSource {
  const fail = (why: string) => new BusSourceError(`Cannot use the bus "${text}": ${why}`);
  const [, type = "file", place = "", query = "", fragment = ""] = SOURCE.exec(text) ?? withoutType(PATH.exec(text));
  if (!isType(type) || place === "") throw fail(`expected ${FORMS}`);
  const options = new URLSearchParams(query);
  const known: readonly string[] = ["name", "format", "bus", ...OPTIONS[type]];
  for (const key of options.keys()) {
    if (!known.includes(key)) throw fail(`it has no "${key}", only ${known.join(", ")}`);
  }
  const told = fragment || options.get("format");
  const format = RECORDING_FORMATS.find((each) => each === told);
  if (told && !format) throw fail(`the format "${told}" is none of ${RECORDING_FORMATS.join(", ")}`);
  const where = placeOf(type, { place, options, format, fail });
  const name = options.get("name") ?? nameOf(where);
  if (!BUS_NAME.test(name)) throw fail(`"${name}" is no name of a bus; give it one with ?name=, at most 32 characters`);
  return { ...where, name, format, bus: options.get("bus") ?? undefined };
}

type Place = BusSource extends infer Each ? Each extends BusSource ? Omit<Each, keyof BusSourceBase> : never : never;

/** A path has the parts of a source, without a type. */
function withoutType(match: RegExpExecArray | null): (string | undefined)[] {
  return match ? [match[0], undefined, ...match.slice(1)] : [];
}

function isType(type: string): type is BusSource["type"] {
  return Object.hasOwn(OPTIONS, type);
}

function placeOf(
  type: BusSource["type"],
  { place, options, format, fail }: {
    place: string;
    options: URLSearchParams;
    format: RecordingFormat | undefined;
    fail: (why: string) => BusSourceError;
  },
): Place {
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
      const [, bracketed, plain, digits] = /^(?:\[([\da-f:.%]+)\]|([\w.-]*)):(\d{1,5})$/i.exec(place) ?? [];
      const [hostname, port] = [bracketed || plain || undefined, Number(digits)];
      if (!isPortNumber(port)) throw fail(`expected host:port, port 1 to ${MAX_PORT}`);
      if (type === "udp") return { type, hostname, port, listenPort: number("listen", port, isPort) };
      if (hostname === undefined) throw fail("expected host:port");
      return { type, hostname, port, silenceMs: silenceOf(options.get("silence"), fail) };
    }
    case "serial": {
      if (!place.startsWith("/")) throw fail("expected the path of a device, such as serial:///dev/ttyUSB0");
      const usual = format === "ikonvert" ? IKONVERT_BAUD : DEFAULT_BAUD;
      const isBaud = { fits: (value: number) => BAUDS.includes(value), expected: `one of ${BAUDS.join(", ")}` };
      return { type, path: place, baud: number("baud", usual, isBaud) };
    }
    case "file": {
      const isSpeed = { fits: (value: number) => value >= 0 && value < Infinity, expected: "0 or more" };
      return { type, path: place, speed: number("speed", 1, isSpeed) };
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

function nameOf(place: Place): string {
  switch (place.type) {
    case "tcp":
      return formatAddress(place);
    case "udp":
      return formatAddress({ hostname: place.hostname ?? "udp", port: place.port });
    case "serial":
    case "file":
      return place.path.slice(place.path.lastIndexOf("/") + 1);
  }
}
