import type { DecodedFields } from "@vessel/gateway/client";
import { readHex } from "@vessel/gateway/frame";
import { outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { type Check, refuse, type SettingsOf } from "../../settings/options.ts";

const message = flagGroup("Message");
const MAX_PGN = 0x3ffff;
const BROADCAST = 255;
/** The null address (254). */
const NULL_ADDRESS = 254;

/** Options of the destination. */
export const addressOptions = {
  pgn: optional(message.integer({
    name: "pgn",
    placeholder: "PGN",
    default: 0,
    max: MAX_PGN,
    help: "Parameter Group Number. Must be given.",
  })),
  dst: message.integer({
    name: "dst",
    default: BROADCAST,
    max: BROADCAST,
    help: "Destination address; 255: all devices.",
  }),
  bus: optional(message.text({ name: "bus", help: "Bus to send on. Without it: the server's first." })),
};

/** Check of the destination. */
export const addressChecks: readonly Check<SettingsOf<typeof addressOptions>>[] = [
  refuse(["pgn"], ({ pgn }) => pgn === undefined && "Missing PGN: expected -pgn N"),
];

/** Options of `vbg send`. */
export const sendCommandOptions = {
  ...serverOptions,
  ...addressOptions,
  data: optional(message.text({
    name: "data",
    placeholder: "HEX",
    help: "Payload in hex digits. Spaces, colons and a leading 0x are ignored.",
    validate: (value) =>
      readHex(digitsOf(value)) === undefined
        ? `Cannot read the payload "${value}": expected hex digits, two for each byte`
        : undefined,
  })),
  fields: message.structured<DecodedFields | undefined>({
    name: "fields",
    default: undefined,
    help:
      'Payload as fields, in the form of "decoded": {"heading": 1.57, "heading_reference": "true"}. Omitted fields ' +
      "are sent as not available. vbg pgns PGN lists the fields.",
    parseText: readFields,
    format: (value) => value && JSON.stringify(value),
  }),
  src: optional(message.integer({
    name: "src",
    default: NULL_ADDRESS,
    max: NULL_ADDRESS,
    help: "Source address, if the server has none of its own. Without it: 254.",
  })),
  prio: optional(message.integer({
    name: "prio",
    default: 6,
    max: 7,
    help: "Priority; 0 is the highest. Without it: 6.",
  })),
  ...outputOptions,
  ...programOptions,
};

/** Settings of `vbg send`. */
export type SendSettings = SettingsOf<typeof sendCommandOptions>;

/** Rules over several settings. */
export const sendCommandChecks: readonly Check<SendSettings>[] = [
  ...serverChecks,
  ...addressChecks,
  refuse(
    ["data", "fields"],
    ({ data, fields }) =>
      (data === undefined) === (fields === undefined) &&
      "Missing or ambiguous payload: expected either -data HEX or -fields JSON",
  ),
];

/** Removes everything but the hex digits. */
export function digitsOf(value: string): string {
  return value.replace(/^0x/i, "").replace(/[\s:]/g, "");
}

function readFields(value: string): DecodedFields {
  try {
    const fields: unknown = JSON.parse(value);
    if (isFields(fields)) return fields;
  } catch {
    // Not JSON.
  }
  throw new RangeError(`Cannot read the fields "${value}": expected a JSON object`);
}

function isFields(value: unknown): value is DecodedFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
