import {
  DEFAULT_SENTENCE_NAMES,
  MIN_SENTENCE_INTERVAL_MS,
  NMEA0183_BUFFER_BYTES,
  NMEA0183_MAX_CLIENTS,
  type Nmea0183Settings,
  SENTENCE_NAMES,
} from "@vessel/gateway/boat";
import { errorText, parseDuration } from "@vessel/gateway/base";
import { hint } from "@vessel/gateway/units";
import { lineTargetOf } from "./line_target.ts";
import { OptionGroup } from "./option_types.ts";
import { type Check, definedOnly, refuse, type SettingsOf, warn } from "./options.ts";

const nmea0183 = new OptionGroup("NMEA 0183", { section: "nmea0183" });
const MAX_INTERVAL_MS = 3_600_000;
/** Longest source of a tag block, characters (IEC 61162-450). */
const TAG_SOURCE = /^[A-Za-z0-9]{1,15}$/;
/** The name in {@linkcode SENTENCE_NAMES} that has no interval. */
const AIS = "AIS";
const TALKER = /^[A-Z]{2}$/;

/** Options of the NMEA 0183 server. */
export const nmea0183Options = {
  nmea0183Listen: nmea0183.list({
    name: "nmea0183-listen",
    placeholder: "ADDRESS",
    help:
      "Send NMEA 0183 sentences, AIS included: tcp://:10110 to the clients of this port, udp://192.168.1.255:10110 as " +
      "datagrams to an address or broadcast address. Repeat the flag for several. Sentences from clients are not read.",
    validate: (text) => problemOf(() => lineTargetOf(text)),
  }),
  nmea0183Talker: nmea0183.text({
    name: "nmea0183-talker",
    placeholder: "ID",
    help: "Talker of all sentences but AIS, two capital letters. Default: GP for position and route, II for others.",
    validate: (id) =>
      id === "" || TALKER.test(id) ? undefined : `Cannot use the talker "${id}": expected two capital letters`,
  }),
  nmea0183Sentences: nmea0183.list({
    name: "nmea0183-sentences",
    placeholder: "NAME",
    commas: true,
    help: `Send only these: ${SENTENCE_NAMES.join(", ")}. Default: all but ${
      SENTENCE_NAMES.filter((name) => !DEFAULT_SENTENCE_NAMES.includes(name)).join(", ")
    }.`,
    validate: checkSentence,
  }),
  nmea0183Rates: nmea0183.list({
    name: "nmea0183-rates",
    placeholder: "NAME=DURATION",
    commas: true,
    help:
      "Interval of a sentence, 100ms or longer: RMC=200ms,XDR=5s. Default: 1s. AIS sentences are sent as they arrive.",
    validate: (text) => problemOf(() => rateOf(text)),
  }),
  nmea0183TagSource: nmea0183.text({
    name: "nmea0183-tag-source",
    placeholder: "NAME",
    help: "Put a tag block with this source and the time before each sentence: \\s:NAME,c:TIME*hh\\. Default: none.",
    validate: (name) =>
      name === "" || TAG_SOURCE.test(name)
        ? undefined
        : `Cannot use the source "${name}": expected 1 to 15 letters and digits`,
  }),
  nmea0183MaxClients: nmea0183.integer({
    name: "nmea0183-max-clients",
    beyond: "The connection is closed, and counted in vbg_nmea0183_refused_total.",
    default: NMEA0183_MAX_CLIENTS,
    min: 1,
    max: 1000,
    help: "Most TCP clients at once.",
  }),
  nmea0183BufferBytes: nmea0183.size({
    name: "nmea0183-buffer-bytes",
    beyond: "The newest sentences are dropped for this client, counted in vbg_nmea0183_dropped_total and logged.",
    default: NMEA0183_BUFFER_BYTES,
    minBytes: 4096,
    maxBytes: 2 ** 24,
    help: "Most bytes that wait for one client or address.",
  }),
};

/** Settings of the NMEA 0183 server. */
export type Nmea0183OptionSettings = SettingsOf<typeof nmea0183Options>;

const NAMES = Object.keys(nmea0183Options).filter((name): name is keyof Nmea0183OptionSettings =>
  name !== "nmea0183Listen"
);

/** Checks of several settings of NMEA 0183. */
export const nmea0183Checks: readonly Check<Nmea0183OptionSettings>[] = [
  ...NAMES.map((name): Check<Nmea0183OptionSettings> =>
    warn(
      [name, "nmea0183Listen"],
      ({ nmea0183Listen }, isGiven) =>
        nmea0183Listen.length === 0 && isGiven(name) && "Not used without -nmea0183-listen",
    )
  ),
  refuse(["nmea0183Sentences"], ({ nmea0183Sentences }) => twice(nmea0183Sentences)),
  refuse(["nmea0183Rates"], ({ nmea0183Rates }) => twice(nmea0183Rates.map((text) => rateOf(text)[0]))),
  refuse(["nmea0183Rates", "nmea0183Sentences"], ({ nmea0183Rates, nmea0183Sentences }) => {
    const sent = withInterval(nmea0183Sentences.length > 0 ? nmea0183Sentences : DEFAULT_SENTENCE_NAMES);
    const unsent = nmea0183Rates.map((text) => rateOf(text)[0]).find((name) => !sent.includes(name));
    const allowed = [sent.join(", "), `"${unsent}" in -nmea0183-sentences`].filter((text) => text !== "").join(", or ");
    return unsent !== undefined && `Cannot use an interval of "${unsent}": it is not sent: expected ${allowed}`;
  }),
];

/** The library's settings of NMEA 0183; undefined if it is off. */
export function nmea0183Of(settings: Nmea0183OptionSettings): Nmea0183Settings | undefined {
  const { nmea0183Listen, nmea0183Sentences } = settings;
  if (nmea0183Listen.length === 0) return undefined;
  return definedOnly<Nmea0183Settings>({
    targets: nmea0183Listen.map(lineTargetOf),
    talker: settings.nmea0183Talker || undefined,
    sentences: nmea0183Sentences.length > 0 ? nmea0183Sentences : undefined,
    intervalsMs: new Map(settings.nmea0183Rates.map(rateOf)),
    tagSource: settings.nmea0183TagSource || undefined,
    maxClients: settings.nmea0183MaxClients,
    bufferBytes: settings.nmea0183BufferBytes,
  });
}

function problemOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

function checkSentence(name: string): string | undefined {
  if (SENTENCE_NAMES.includes(name)) return undefined;
  const nearest = hint(name, { known: SENTENCE_NAMES });
  return `There is no sentence "${name}"${nearest || `: expected ${SENTENCE_NAMES.join(", ")}`}`;
}

function twice(names: readonly string[]): string | undefined {
  const name = names.find((each, index) => names.indexOf(each) < index);
  return name && `Cannot use the sentence "${name}" twice: expected each one once`;
}

function withInterval(names: readonly string[]): string[] {
  return names.filter((name) => name !== AIS);
}

/** @throws {RangeError} the text has another form */
function rateOf(text: string): [string, number] {
  const [name = "", duration, ...rest] = text.split("=").map((part) => part.trim());
  if (duration === undefined || rest.length > 0) {
    throw new RangeError(`Cannot read "${text}": expected NAME=DURATION, such as RMC=500ms`);
  }
  const problem = checkSentence(name);
  if (problem !== undefined) throw new RangeError(problem);
  if (name === AIS) {
    const allowed = withInterval(SENTENCE_NAMES).join(", ");
    throw new RangeError(
      `Cannot use an interval of "${name}": AIS sentences are sent as they arrive: expected one of ${allowed}`,
    );
  }
  const ms = parseDuration(duration);
  if (ms >= MIN_SENTENCE_INTERVAL_MS && ms <= MAX_INTERVAL_MS) return [name, ms];
  throw new RangeError(`Cannot use the interval "${duration}": expected 100ms to 1h`);
}
