import {
  GATEWAY_BUFFER_BYTES,
  GATEWAY_FORMATS,
  GATEWAY_MAX_CLIENTS,
  type GatewayServerSettings,
  type GatewayTarget,
} from "@vessel/gateway/boat";
import { errorText } from "@vessel/gateway/base";
import { hint } from "@vessel/gateway/units";
import { lineTargetOf } from "./line_target.ts";
import { OptionGroup } from "./option_types.ts";
import { type Check, definedOnly, type SettingsOf, warn } from "./options.ts";

const gateway = new OptionGroup("Gateway server", { section: "gateway" });
const PARAMETERS = ["format", "bus", "send"];

/** Options of the gateway server. */
export const gatewayServerOptions = {
  gatewayListen: gateway.list({
    name: "gateway-listen",
    placeholder: "ADDRESS",
    commas: true,
    help:
      "Serve the buses as a gateway does, for OpenCPN, canboat and others: tcp://:1457?format=ydraw to the clients of this " +
      `port, udp://192.168.1.255:1457?format=ydraw as datagrams. Formats: ${GATEWAY_FORMATS.join(", ")}. ` +
      "&bus=NAME: only this bus. &send=allow: what clients write is sent, if -send-enabled is set; the port asks for no token.",
    validate: (text) => {
      try {
        targetOf(text);
        return undefined;
      } catch (error) {
        return errorText(error);
      }
    },
  }),
  gatewayMaxClients: gateway.integer({
    name: "gateway-max-clients",
    beyond: "The connection is closed, and counted in vbg_gateway_refused_total.",
    default: GATEWAY_MAX_CLIENTS,
    min: 1,
    max: 1000,
    help: "Most TCP clients of one port at once.",
  }),
  gatewayBufferBytes: gateway.size({
    name: "gateway-buffer-bytes",
    beyond: "The newest frames are dropped for this client, counted in vbg_gateway_dropped_total and logged. " +
      "A client that takes nothing for 30 s is disconnected.",
    default: GATEWAY_BUFFER_BYTES,
    minBytes: 32_768,
    maxBytes: 2 ** 26,
    help: "Most bytes that wait for one client or address.",
  }),
};

/** Settings of the gateway server. */
export type GatewayServerOptionSettings = SettingsOf<typeof gatewayServerOptions>;

const LIMITS = ["gatewayMaxClients", "gatewayBufferBytes"] as const;

/** Checks of several settings of the gateway server. */
export const gatewayServerChecks: readonly Check<GatewayServerOptionSettings & { sendEnabled: boolean }>[] = [
  ...LIMITS.map((name): Check<GatewayServerOptionSettings> =>
    warn(
      [name, "gatewayListen"],
      ({ gatewayListen }, isGiven) => gatewayListen.length === 0 && isGiven(name) && "Not used without -gateway-listen",
    )
  ),
  warn(
    ["gatewayListen", "sendEnabled"],
    ({ gatewayListen, sendEnabled }) =>
      !sendEnabled && gatewayListen.some((text) => targetOf(text).send) &&
      "Clients of the gateway server cannot send: send=allow needs -send-enabled",
  ),
];

/** The library's settings of the gateway server; undefined if it is off. */
export function gatewayServerOf(settings: GatewayServerOptionSettings): GatewayServerSettings | undefined {
  const { gatewayListen, gatewayMaxClients: maxClients, gatewayBufferBytes: bufferBytes } = settings;
  if (gatewayListen.length === 0) return undefined;
  return { targets: gatewayListen.map(targetOf), maxClients, bufferBytes };
}

/** @throws {RangeError} the text has another form */
function targetOf(text: string): GatewayTarget {
  const [address = "", query = ""] = text.split("?", 2);
  const target = lineTargetOf(address);
  const parameters = new URLSearchParams(query);
  for (const key of parameters.keys()) {
    if (PARAMETERS.includes(key)) continue;
    const near = hint(key, { known: PARAMETERS }) || `: expected ${PARAMETERS.join(", ")}`;
    throw new RangeError(`Cannot use "${text}": there is no parameter "${key}"${near}`);
  }
  const name = parameters.get("format");
  if (name === null) throw new RangeError(`Cannot use "${text}": the format is missing: ${GATEWAY_FORMATS.join(", ")}`);
  const format = GATEWAY_FORMATS.find((each) => each === name);
  if (!format) {
    const near = hint(name, { known: GATEWAY_FORMATS }) || `: expected ${GATEWAY_FORMATS.join(", ")}`;
    throw new RangeError(`Cannot use "${text}": there is no format "${name}"${near}`);
  }
  const send = parameters.get("send");
  if (send !== null && send !== "allow") throw new RangeError(`Cannot use "${text}": expected send=allow`);
  if (send !== null && target.protocol === "udp") {
    throw new RangeError(`Cannot use "${text}": nothing is received over UDP; use tcp:// with send=allow`);
  }
  const bus = parameters.get("bus") ?? undefined;
  return definedOnly<GatewayTarget>({ ...target, format, bus, send: send === "allow" });
}
