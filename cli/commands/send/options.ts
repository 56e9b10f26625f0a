import type { DecodedFields } from "@vessel/gateway/client";
import { readHex } from "@vessel/gateway/frame";
import { type ClientSettings, outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { integer, optional, structured, text } from "../../settings/option_types.ts";
import type { Check, Option, Options } from "../../settings/options.ts";

/** Destination address and bus. */
export interface AddressSettings {
  /** Must be given. */
  pgn: number | undefined;
  dst: number;
  bus: string | undefined;
}

/** Settings of `vbg send`. */
export interface SendSettings extends ClientSettings, AddressSettings {
  /** Hex digits. */
  data: string | undefined;
  fields: DecodedFields | undefined;
  src: number | undefined;
  prio: number | undefined;
}

const MESSAGE = "Message";
const MAX_PGN = 0x3ffff;
const BROADCAST = 255;
/** The null address (254). */
const NULL_ADDRESS = 254;
/** Settings that only the command line has. */
const here = { key: [], environment: false, group: MESSAGE } as const;

/** Rows of AddressSettings. */
export function addressOptions(): Options<AddressSettings> {
  return {
    pgn: optional(integer({
      name: "pgn",
      ...here,
      placeholder: "PGN",
      default: 0,
      max: MAX_PGN,
      help: "Parameter Group Number. Must be given.",
    })),
    dst: integer({
      name: "dst",
      ...here,
      default: BROADCAST,
      max: BROADCAST,
      help: "Destination address; 255: all devices.",
    }),
    bus: optional(text({
      name: "bus",
      ...here,
      placeholder: "NAME",
      default: "",
      help: "Bus to send on. Without it: the server's first.",
    })),
  };
}

/** Rule of AddressSettings. */
export const addressChecks: readonly Check<AddressSettings>[] = [
  {
    settings: ["pgn"],
    severity: "error",
    test: ({ pgn }) => pgn === undefined ? "Missing PGN: expected -pgn N" : undefined,
  },
];

/** Options of `vbg send`. */
export const sendCommandOptions: Options<SendSettings> = {
  ...serverOptions(),
  ...addressOptions(),
  data: optional(text({
    name: "data",
    ...here,
    placeholder: "HEX",
    default: "",
    help: "Payload in hex digits. Spaces, colons and a leading 0x are ignored.",
    validate: (value) =>
      readHex(digitsOf(value)) === undefined
        ? `Cannot read the payload "${value}": expected hex digits, two for each byte`
        : undefined,
  })),
  fields: optional(fieldsOption()),
  src: optional(integer({
    name: "src",
    ...here,
    default: NULL_ADDRESS,
    max: NULL_ADDRESS,
    help: "Source address, if the server has none of its own. Without it: 254.",
  })),
  prio: optional(integer({
    name: "prio",
    ...here,
    default: 6,
    max: 7,
    help: "Priority; 0 is the highest. Without it: 6.",
  })),
  ...outputOptions(),
  ...programOptions(),
};

/** Rules over several settings. */
export const sendCommandChecks: readonly Check<SendSettings>[] = [
  ...serverChecks,
  ...addressChecks,
  {
    settings: ["data", "fields"],
    severity: "error",
    test: ({ data, fields }) =>
      (data === undefined) === (fields === undefined)
        ? "Missing or ambiguous payload: expected either -data HEX or -fields JSON"
        : undefined,
  },
];

/** Removes everything but the hex digits. */
export function digitsOf(value: string): string {
  return value.replace(/^0x/i, "").replace(/[\s:]/g, "");
}

function fieldsOption(): Option<DecodedFields> {
  return structured<DecodedFields>({
    name: "fields",
    ...here,
    placeholder: "JSON",
    default: {},
    help:
      'Payload as fields, in the form of "decoded": {"heading": 1.57, "heading_reference": "true"}. Omitted fields ' +
      "are sent as not available. vbg pgns PGN lists the fields.",
    parse: (value) => readFields(String(value)),
    parseText: readFields,
    format: (value) => JSON.stringify(value),
  });
}

function readFields(value: string): DecodedFields {
  let fields: unknown;
  try {
    fields = JSON.parse(value);
  } catch {
    throw new RangeError(`Cannot read the fields "${value}": expected a JSON object`);
  }
  if (isFields(fields)) return fields;
  throw new RangeError(`Cannot read the fields "${value}": expected a JSON object`);
}

function isFields(value: unknown): value is DecodedFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
