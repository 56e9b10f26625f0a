import {
  composeName,
  uniqueNumberOf,
  VERSION,
  VIRTUAL_DEVICE_DEFAULTS,
  type VirtualDeviceSettings,
} from "@vessel/gateway/boat";
import { readName } from "@vessel/gateway/frame";
import { optional, OptionGroup } from "./option_types.ts";
import { type Check, type SettingsOf, warn } from "./options.ts";

/** Shorter ones would flood the bus. */
const MIN_HEARTBEAT_MS = 1000;
const device = new OptionGroup("Virtual device", { section: "virtual-device" });
const MAX_UNIQUE_NUMBER = 0x1fffff;
const MAX_MANUFACTURER = 0x7ff;
const MAX_INSTANCE = 252;
const MAX_MODEL_BYTES = 32;
/** Manufacturer code that is not assigned. */
const NO_MANUFACTURER = 2046;

/** Options of the virtual device. */
export const virtualDeviceOptions = {
  virtualDevice: device.boolean({
    name: "virtual-device",
    key: ["virtual-device.enabled", "virtual-device"],
    help: "Act as a device on every bus: claim an address (252 downwards), send from it, and answer requests. " +
      "Without an address on a bus, sending there gets 503.",
  }),
  virtualDeviceName: optional(device.text({
    name: "virtual-device-name",
    placeholder: "HEX",
    help: "Its 64-bit NAME. Without it: composed of the next three.",
    validate: (name) =>
      readName(name) === undefined ? `Cannot read the NAME "${name}": expected 1 to 16 hex digits` : undefined,
  })),
  virtualDeviceUniqueNumber: optional(device.integer({
    name: "virtual-device-unique-number",
    default: 0,
    max: MAX_UNIQUE_NUMBER,
    help:
      "Unique number of the NAME, different from other gateways on the bus. Without it: derived from the host name.",
  })),
  virtualDeviceManufacturer: device.integer({
    name: "virtual-device-manufacturer",
    default: NO_MANUFACTURER,
    max: MAX_MANUFACTURER,
    help: "Manufacturer code; 2046 is not assigned.",
  }),
  virtualDeviceInstance: device.integer({
    name: "virtual-device-instance",
    default: 0,
    max: MAX_INSTANCE,
    help: "Its device instance.",
  }),
  virtualDeviceModelId: device.text({
    name: "virtual-device-model-id",
    default: "Vessel Bus Gateway",
    help: "Model id of its product information, up to 32 bytes.",
    validate: (model) =>
      new TextEncoder().encode(model).length > MAX_MODEL_BYTES
        ? `Cannot use the model id "${model}": it is longer than 32 bytes`
        : undefined,
  }),
  virtualDeviceClaimHeartbeatMs: device.duration({
    name: "virtual-device-claim-heartbeat",
    default: VIRTUAL_DEVICE_DEFAULTS.claimHeartbeatMs,
    help: "Interval of repeating its address claim. 0: never.",
    validate: checkHeartbeat,
  }),
  virtualDeviceProductInfoHeartbeatMs: device.duration({
    name: "virtual-device-product-info-heartbeat",
    default: VIRTUAL_DEVICE_DEFAULTS.productInfoHeartbeatMs,
    help: "Interval of repeating its product information. 0: never.",
    validate: checkHeartbeat,
  }),
  virtualDeviceAnswerRate: device.integer({
    name: "virtual-device-answer-rate",
    beyond: "The request is not answered.",
    default: VIRTUAL_DEVICE_DEFAULTS.answerFramesPerSecond,
    max: 10_000,
    help: "Most CAN frames a second of its answers on one bus, for all requesters together. 0: no limit.",
  }),
  virtualDeviceMaxInbound: device.integer({
    name: "virtual-device-max-inbound",
    beyond: "A further node is refused with an abort (busy) and can try again.",
    default: VIRTUAL_DEVICE_DEFAULTS.maxInboundSessions,
    min: 1,
    max: 253,
    help: "Most nodes of one bus that may send it a multi-packet message at the same time.",
  }),
};

/** Settings of the virtual device. */
export type VirtualDeviceOptionSettings = SettingsOf<typeof virtualDeviceOptions>;

/** Settings that a given NAME contains. */
const NAME_PARTS = ["virtualDeviceUniqueNumber", "virtualDeviceManufacturer", "virtualDeviceInstance"] as const;

/** Checks of several settings of the virtual device. */
export const virtualDeviceChecks: readonly Check<VirtualDeviceOptionSettings>[] = [
  ...NAME_PARTS.map((name): Check<VirtualDeviceOptionSettings> =>
    warn(
      [name, "virtualDeviceName"],
      ({ virtualDevice, virtualDeviceName }, isGiven) =>
        virtualDevice && virtualDeviceName !== undefined && isGiven(name) &&
        "Not used: -virtual-device-name overrides it",
    )
  ),
  ...(["virtualDeviceName", "virtualDeviceModelId", ...NAME_PARTS] as const).map((
    name,
  ): Check<VirtualDeviceOptionSettings> =>
    warn(
      [name, "virtualDevice"],
      ({ virtualDevice }, isGiven) =>
        !virtualDevice && isGiven(name) && "Not used: there is no device without -virtual-device",
    )
  ),
];

/** The library's settings of the virtual device; undefined without one. */
export function virtualDeviceOf(settings: VirtualDeviceOptionSettings): VirtualDeviceSettings | undefined {
  if (!settings.virtualDevice) return undefined;
  const machine = Deno.hostname();
  const given = settings.virtualDeviceName === undefined ? undefined : readName(settings.virtualDeviceName);
  return {
    name: given ?? composeName({
      uniqueNumber: settings.virtualDeviceUniqueNumber ?? uniqueNumberOf(machine),
      manufacturerCode: settings.virtualDeviceManufacturer,
      deviceInstance: settings.virtualDeviceInstance,
    }),
    modelId: settings.virtualDeviceModelId,
    softwareVersion: VERSION,
    serial: machine.slice(0, MAX_MODEL_BYTES),
    claimHeartbeatMs: settings.virtualDeviceClaimHeartbeatMs,
    productInfoHeartbeatMs: settings.virtualDeviceProductInfoHeartbeatMs,
    answerFramesPerSecond: settings.virtualDeviceAnswerRate,
    maxInboundSessions: settings.virtualDeviceMaxInbound,
  };
}

function checkHeartbeat(ms: number): string | undefined {
  return ms > 0 && ms < MIN_HEARTBEAT_MS ? "Cannot repeat it more often than once a second" : undefined;
}
