import type { MqttSettings } from "@vessel/gateway/boat";
import { OptionGroup } from "./option_types.ts";
import { type Check, definedOnly, refuse, type SettingsOf, warn } from "./options.ts";
import { authoritiesProblem, reasonOf, tlsPairProblem } from "./tls_pair.ts";

const mqtt = new OptionGroup("MQTT", { section: "mqtt" });
const SCHEMES = ["mqtt:", "tcp:", "mqtts:", "ssl:", "ws:", "wss:"];
const TLS_SCHEMES = ["mqtts:", "ssl:", "wss:"];
const MAX_BUFFER_FRAMES = 65_536;
const MAX_PGN = 0x3ffff;
/** More than every broker must accept (MQTT 3.1.1, section 3.1.3.1). */
const MAX_CLIENT_ID_LENGTH = 128;

const reachOptions = {
  mqttBroker: mqtt.text({
    name: "mqtt-broker",
    placeholder: "URL",
    help:
      "Publish every frame to this MQTT broker, such as mqtt://host or mqtts://host:8883; also tcp, ssl, ws and wss. " +
      "Empty: off. Reconnects without limit; frames that it does not accept are dropped, counted, and reported on " +
      "PREFIX/dropped.",
    validate: checkBroker,
  }),
  mqttTopicPrefix: mqtt.text({
    name: "mqtt-topic-prefix",
    placeholder: "PREFIX",
    default: "vbg",
    help: "First level of the topics: PREFIX/frames, PREFIX/status (online or offline, retained), PREFIX/dropped.",
    validate: checkPrefix,
  }),
  mqttClientId: mqtt.text({
    name: "mqtt-client-id",
    placeholder: "ID",
    default: "vbg-boat",
    help: "MQTT client id. Two clients with the same id at one broker disconnect each other.",
    validate: (id) =>
      id !== "" && id.length <= MAX_CLIENT_ID_LENGTH && !hasControls(id)
        ? undefined
        : `Cannot use the client id "${id}": expected 1 to ${MAX_CLIENT_ID_LENGTH} printable characters`,
  }),
  mqttUsername: mqtt.text({ name: "mqtt-username", help: "User name at the broker." }),
  mqttPassword: mqtt.text({
    name: "mqtt-password",
    placeholder: "PASSWORD",
    secret: true,
    help: "Password at the broker. Prefer -mqtt-password-file: other users can see command lines.",
  }),
  mqttPasswordFile: mqtt.text({
    name: "mqtt-password-file",
    placeholder: "FILE",
    help: "File whose first line is the password.",
  }),
  mqttCaFile: mqtt.text({
    name: "mqtt-ca-file",
    placeholder: "FILE",
    help: "PEM file with the authorities that the broker's certificate is verified by. Default: those of the system.",
  }),
  mqttCert: mqtt.text({
    name: "mqtt-cert",
    placeholder: "FILE",
    help: "PEM file with the client certificate, for brokers that require one. Requires -mqtt-key.",
  }),
  mqttKey: mqtt.text({
    name: "mqtt-key",
    placeholder: "FILE",
    help: "PEM file with the key of -mqtt-cert, not encrypted.",
  }),
};

/** Options of publishing to an MQTT broker. */
export const mqttOptions = {
  ...reachOptions,
  mqttQos: mqtt.integer({
    name: "mqtt-qos",
    default: 0,
    max: 2,
    help: "0: at most once; 1: at least once, duplicates only after a lost connection; 2: exactly once.",
  }),
  mqttBufferFrames: mqtt.powerOfTwo({
    name: "mqtt-buffer",
    beyond: "The newest frames are dropped, counted in vbg_mqtt_dropped_total and reported under PREFIX/dropped.",
    default: 128,
    min: 1,
    max: MAX_BUFFER_FRAMES,
    help: "Most frames that wait for the broker. A power of two.",
  }),
  mqttRetryMs: mqtt.duration({
    name: "mqtt-retry",
    default: 5000,
    minMs: 100,
    maxMs: 86_400_000,
    help: "Time between two attempts to connect.",
  }),
  mqttPgnTopics: mqtt.boolean({ name: "mqtt-pgn-topics", help: "Also publish each frame to PREFIX/pgn/PGN/SOURCE." }),
  mqttDecode: mqtt.boolean({ name: "mqtt-decode", help: "Add the decoded fields to each frame." }),
  mqttFilter: mqtt.list({
    name: "mqtt-filter",
    placeholder: "PGN",
    commas: true,
    help: "Publish only these PGNs.",
    validate: (pgn) =>
      /^\d+$/.test(pgn) && Number(pgn) <= MAX_PGN
        ? undefined
        : `Cannot read the PGN "${pgn}": expected a number from 0 to ${MAX_PGN}`,
  }),
  mqttHomeAssistant: mqtt.boolean({
    name: "mqtt-home-assistant",
    help:
      "Publish position, speed, course, heading, depth, wind, water temperature, batteries and tanks to PREFIX/values, " +
      "at most once a second, and announce them to Home Assistant.",
  }),
};

/** Settings of the MQTT client. */
export type MqttOptionSettings = SettingsOf<typeof mqttOptions>;

const NAMES: readonly (keyof MqttOptionSettings)[] = [
  ...(["mqttUsername", "mqttPassword", "mqttPasswordFile", "mqttCaFile", "mqttCert", "mqttKey"] as const),
  ...(["mqttPgnTopics", "mqttDecode", "mqttFilter", "mqttHomeAssistant"] as const),
];

/** Checks of several settings of MQTT, and of the files that they name. */
export const mqttChecks: readonly Check<MqttOptionSettings>[] = [
  ...NAMES.map((name): Check<MqttOptionSettings> =>
    warn(
      [name, "mqttBroker"],
      ({ mqttBroker }, isGiven) => mqttBroker === "" && isGiven(name) && "Not used without -mqtt-broker",
    )
  ),
  refuse(["mqttPasswordFile", "mqttPassword"], ({ mqttPassword, mqttPasswordFile }) => {
    if (mqttPasswordFile === "") return undefined;
    if (mqttPassword !== "") return "Cannot use both -mqtt-password and -mqtt-password-file";
    return reasonOf(() => readPassword(mqttPasswordFile));
  }),
  refuse(
    ["mqttUsername", "mqttPassword", "mqttPasswordFile"],
    ({ mqttUsername, mqttPassword, mqttPasswordFile }) =>
      mqttUsername === "" && (mqttPassword !== "" || mqttPasswordFile !== "") &&
      "Cannot use an MQTT password without -mqtt-username",
  ),
  refuse(["mqttCaFile"], ({ mqttCaFile }) => authoritiesProblem(mqttCaFile)),
  refuse(
    ["mqttCert", "mqttKey"],
    ({ mqttCert, mqttKey }) => tlsPairProblem({ cert: mqttCert, key: mqttKey }, { cert: "mqtt-cert", key: "mqtt-key" }),
  ),
  refuse(
    ["mqttBroker", "mqttCert", "mqttCaFile"],
    ({ mqttBroker, mqttCert, mqttCaFile }) =>
      mqttBroker === "" || (mqttCert === "" && mqttCaFile === "") || TLS_SCHEMES.includes(new URL(mqttBroker).protocol)
        ? undefined
        : `Cannot use certificates with "${mqttBroker}": expected mqtts, ssl or wss`,
  ),
  warn(
    ["mqttPassword", "mqttPasswordFile", "mqttBroker"],
    ({ mqttBroker, mqttPassword, mqttPasswordFile }) =>
      mqttBroker !== "" && (mqttPassword !== "" || mqttPasswordFile !== "") && !isSafe(new URL(mqttBroker)) &&
      `The password is sent unencrypted to "${mqttBroker}": use mqtts`,
  ),
];

/** The library's settings of MQTT; undefined if it is off. The checks have read the files before. */
export function mqttOf(settings: MqttOptionSettings): MqttSettings | undefined {
  const { mqttBroker: url, mqttUsername, mqttPasswordFile, mqttCaFile, mqttCert, mqttKey } = settings;
  if (url === "") return undefined;
  const password = mqttPasswordFile === "" ? settings.mqttPassword : readPassword(mqttPasswordFile);
  const pgn = settings.mqttFilter.map(Number);
  return definedOnly<MqttSettings>({
    url,
    topicPrefix: settings.mqttTopicPrefix,
    clientId: settings.mqttClientId,
    qos: settings.mqttQos === 0 ? 0 : settings.mqttQos === 1 ? 1 : 2,
    username: mqttUsername || undefined,
    password: password || undefined,
    ca: mqttCaFile === "" ? undefined : Deno.readTextFileSync(mqttCaFile),
    cert: mqttCert === "" ? undefined : Deno.readTextFileSync(mqttCert),
    key: mqttCert === "" ? undefined : Deno.readTextFileSync(mqttKey),
    bufferFrames: settings.mqttBufferFrames,
    retryMs: settings.mqttRetryMs,
    pgnTopics: settings.mqttPgnTopics,
    decode: settings.mqttDecode,
    filter: pgn.length > 0 ? { pgn } : {},
    homeAssistant: settings.mqttHomeAssistant,
  });
}

/** The message does not quote a URL that may contain a password. */
function checkBroker(url: string): string | undefined {
  if (url === "") return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isGood = parsed && SCHEMES.includes(parsed.protocol) && parsed.hostname !== "";
  if (url.includes("@")) {
    return "Cannot use a broker's URL with a user in it: use -mqtt-username and -mqtt-password-file";
  }
  if (isGood && parsed.hash === "" && (isWebSocket(parsed) || isBare(parsed))) return undefined;
  return `Cannot read the broker "${url}": expected mqtt://HOST[:PORT]; also mqtts, tcp, ssl, ws or wss`;
}

function isWebSocket({ protocol }: URL): boolean {
  return protocol === "ws:" || protocol === "wss:";
}

function isBare({ pathname, search }: URL): boolean {
  return (pathname === "" || pathname === "/") && search === "";
}

/** True for TLS, and for a broker on this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  return TLS_SCHEMES.includes(protocol) || /^(?:localhost|127\..*|\[::1\])$/.test(hostname);
}

function checkPrefix(prefix: string): string | undefined {
  if (/^[^/#+$][^#+]*$/.test(prefix) && !prefix.endsWith("/") && !hasControls(prefix)) return undefined;
  return `Cannot use the topic prefix "${prefix}": expected levels with "/" between them, without #, + and spaces`;
}

function hasControls(value: string): boolean {
  return /[\p{Cc}\s]/u.test(value);
}

function readPassword(path: string): string {
  const [password = ""] = Deno.readTextFileSync(path).split(/\r?\n/);
  if (password === "") throw new RangeError(`Cannot use the password file "${path}": its first line is empty`);
  return password;
}
