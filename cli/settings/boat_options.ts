import { BOAT_DEFAULTS, isBusSource, parseBusSource } from "@vessel/gateway/boat";
import { ALL_ADDRESSES, errorText, formatAddress, type ListenAddress, MAX_PORT } from "@vessel/gateway/base";
import { alertChecks, alertOptions } from "./alert_options.ts";
import { authChecks, authOptions } from "./auth_options.ts";
import { blackBoxOptions } from "./black_box_options.ts";
import { fileOptions, programOptions, serverOptions } from "./common_options.ts";
import { connectionOptions } from "./connection_options.ts";
import { gatewayServerChecks, gatewayServerOptions } from "./gateway_server_options.ts";
import { journalChecks, journalOptions } from "./journal_options.ts";
import { mdnsChecks, mdnsOptions } from "./mdns_options.ts";
import { mqttChecks, mqttOptions } from "./mqtt_options.ts";
import { nmea0183Checks, nmea0183Options } from "./nmea0183_options.ts";
import { offAtZero, OptionGroup, reloadable } from "./option_types.ts";
import { type Check, refuse, type SettingsOf, warn } from "./options.ts";
import { replicationChecks, replicationOptions } from "./replication_options.ts";
import { requestChecks, requestOptions } from "./request_rules.ts";
import { signalkChecks, signalkOptions } from "./signalk_options.ts";
import { sendChecks, sendOptions } from "./send_options.ts";
import { sessionOptions } from "./session_options.ts";
import { sourceOptions } from "./source_options.ts";
import { doubtSlots } from "./slots.ts";
import { virtualDeviceChecks, virtualDeviceOptions } from "./virtual_device_options.ts";

/** Name of the configuration file that is read without `-config`. */
export const BOAT_CONFIG_NAME = "vbg-boat.conf";

const MAX_INTERFACES = 8;
const MIN_RING_FRAMES = 16;
const MAX_RING_FRAMES = 2 ** 22;
/** The largest single event must fit. */
const MIN_STREAM_BUFFER_BYTES = 16 * 1024;
/** Limit of Linux (IFNAMSIZ without the terminating zero). */
const INTERFACE_NAME = /^[^\s/]{1,15}$/;

const bus = new OptionGroup("Bus");
const network = new OptionGroup("Network");
const memory = new OptionGroup("Memory");
const health = new OptionGroup("Health");

const busOptions = {
  interfaces: bus.list({
    name: "interface",
    aliases: ["interfaces"],
    key: ["interface", "interfaces"],
    commas: true,
    default: ["can0"],
    help:
      "CAN interface to read, such as can0, or a gateway: tcp://192.168.4.1:1457, udp://:2000, serial:///dev/ttyUSB0, or " +
      "the file of a recording. Several by repeating or with commas. -interfaces overrides -interface.",
    validate: checkInterface,
  }),
  canDriver: bus.oneOf({
    name: "can-driver",
    default: "ffi",
    choices: ["ffi", "socketcan"],
    help:
      "ffi: through libc, nothing to install. socketcan: through the npm package of that name, installed separately.",
  }),
  loopback: bus.boolean({
    name: "loopback",
    help: "Buses in memory instead of CAN interfaces: each returns the frames that are sent to it.",
  }),
  demo: bus.boolean({ name: "demo", help: "A simulated boat under way, on a bus in memory. Needs no CAN interface." }),
  discovery: bus.boolean({
    name: "discovery",
    default: true,
    help: "Request the identity of devices. -discovery=false only listens.",
  }),
  deviceIdleTimeoutMs: reloadable(bus.duration({
    name: "device-idle-timeout",
    beyond: "The device and its values leave the tables until it is received again.",
    key: "device.idle-timeout",
    default: BOAT_DEFAULTS.deviceIdleTimeoutMs,
    help: "A device silent for longer is removed. 0: never.",
  })),
  maxAssemblies: bus.integer({
    name: "max-assemblies",
    beyond:
      "The oldest unfinished message is discarded and counted in vbg_assembler_dropped_total with the reason overflow.",
    default: BOAT_DEFAULTS.maxAssemblies,
    min: 1,
    max: 1_000_000,
    help: "Most unfinished multi-frame messages kept for each bus.",
  }),
};

const networkOptions = {
  listen: network.address({
    name: "listen",
    help: "Address of the HTTP server: 127.0.0.1:8089, [::1]:8089, or :8089 for all addresses. Overrides -port.",
  }),
  port: network.integer({
    name: "port",
    default: BOAT_DEFAULTS.port,
    max: MAX_PORT,
    help: "Port of the HTTP server on all addresses. 0: any free port; the log says which.",
  }),
  maxStreams: reloadable(network.integer({
    name: "max-streams",
    beyond: "503 with Retry-After.",
    default: BOAT_DEFAULTS.maxStreams,
    min: 1,
    max: 1_000_000,
    help: "Most streams (/events, /ws and those of sessions together) open at once.",
  })),
  streamBufferBytes: network.size({
    name: "stream-buffer-bytes",
    beyond: "The client is skipped, counted, and gets a dropped event with the range.",
    default: BOAT_DEFAULTS.streamBufferBytes,
    minBytes: MIN_STREAM_BUFFER_BYTES,
    maxBytes: 2 ** 30,
    help: "Most bytes that wait for one slow client.",
  }),
};

const memoryOptions = {
  ringFrames: memory.powerOfTwo({
    name: "ring-size",
    beyond:
      "The oldest frames leave memory; a client that needs them reads the journal or gets the error fallen_behind.",
    default: BOAT_DEFAULTS.ringFrames,
    min: MIN_RING_FRAMES,
    max: MAX_RING_FRAMES,
    help: "Frames kept in memory for clients that catch up. A power of two.",
  }),
  maxValues: memory.integer({
    name: "max-values",
    beyond: "Values of further devices and PGNs are not kept; they are counted in vbg_values_refused_total.",
    default: BOAT_DEFAULTS.maxValues,
    min: 1,
    max: 2 ** 24,
    help: "Most last values kept, one for each device and PGN.",
  }),
  doctor: health.boolean({
    name: "doctor",
    default: true,
    help:
      "Check the buses continuously for faults of wiring, devices and sensors; /doctor and vbg doctor -bus list them.",
  }),
  doctorMaxStreams: memory.integer({
    name: "doctor-max-streams",
    beyond: "The doctor does not check the messages of further devices and PGNs; they are counted in " +
      "vbg_doctor_untracked_messages_total.",
    default: 4096,
    min: 1,
    max: 2 ** 20,
    help: "Most pairs of device and PGN that the doctor tracks, and most values.",
  }),
  busSilenceThresholdMs: reloadable(offAtZero(health.duration({
    name: "bus-silence-threshold",
    key: "health.bus-silence-threshold",
    default: 0,
    help: "/healthz reports a bus without frames for longer. Not set or 0: off.",
  }))),
};

/** Every setting of the boat server. */
export const boatOptions = {
  ...busOptions,
  ...networkOptions,
  ...connectionOptions({ most: BOAT_DEFAULTS.mostConnections }),
  ...memoryOptions,
  ...authOptions,
  ...sendOptions,
  ...virtualDeviceOptions,
  ...requestOptions,
  ...mqttOptions,
  ...signalkOptions,
  ...nmea0183Options,
  ...gatewayServerOptions,
  ...mdnsOptions,
  ...alertOptions,
  ...sessionOptions,
  ...sourceOptions,
  ...journalOptions,
  ...blackBoxOptions,
  ...replicationOptions,
  ...serverOptions,
  ...fileOptions(BOAT_CONFIG_NAME),
  ...programOptions,
};

/** Settings of the boat server. */
export type BoatSettings = SettingsOf<typeof boatOptions>;

/** Checks of several settings of the boat server. */
export const boatChecks: readonly Check<BoatSettings>[] = [
  ...journalChecks,
  ...authChecks,
  ...sendChecks,
  ...virtualDeviceChecks,
  ...requestChecks,
  ...mqttChecks,
  ...signalkChecks,
  ...nmea0183Checks,
  ...gatewayServerChecks,
  ...mdnsChecks,
  ...alertChecks,
  ...replicationChecks,
  warn(["slots"], ({ slots }) => doubtSlots(slots)),
  refuse(
    ["interfaces"],
    ({ interfaces }) =>
      interfaces.length === 0 &&
      "Cannot start without an interface: name one, such as can0, or use -demo, which needs none",
  ),
  refuse(
    ["interfaces"],
    ({ interfaces }) =>
      interfaces.length > MAX_INTERFACES &&
      `Cannot read ${interfaces.length} interfaces: expected at most ${MAX_INTERFACES}`,
  ),
  refuse(["interfaces"], ({ interfaces }) => {
    const twice = interfaces.find((name, index) => interfaces.indexOf(name) !== index);
    return twice === undefined ? undefined : `Cannot read the interface "${twice}" twice`;
  }),
  ...(["interfaces", "canDriver", "loopback"] as const).map((name): Check<BoatSettings> =>
    warn([name], ({ demo }, isGiven) => demo && isGiven(name) && "Not used: -demo brings a bus of its own")
  ),
  warn(
    ["canDriver"],
    ({ loopback, demo }, isGiven) => loopback && !demo && isGiven("canDriver") && "Not used: -loopback needs no driver",
  ),
  warn(
    ["port", "listen"],
    ({ listen }, isGiven) =>
      listen !== undefined && isGiven("port") && `Not used: -listen ${formatAddress(listen)} overrides it`,
  ),
];

/** Where the boat server listens: `listen`, else `port` on all addresses. */
export function listenAddress({ listen, port }: Pick<BoatSettings, "listen" | "port">): ListenAddress {
  return listen ?? { hostname: ALL_ADDRESSES, port };
}

/** Accepts the name of a network interface, or a source such as `tcp://192.168.4.1:1457`. */
function checkInterface(name: string): string | undefined {
  if (isBusSource(name)) {
    try {
      parseBusSource(name);
      return undefined;
    } catch (error) {
      return errorText(error);
    }
  }
  if (INTERFACE_NAME.test(name)) return undefined;
  return `Cannot use the interface "${name}": expected the name of a network interface, at most 15 characters, or a ` +
    "gateway such as tcp://192.168.4.1:1457";
}
