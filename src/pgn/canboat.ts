/** Decoding as canboat's analyzer prints it: by canboat's own definitions, with its names and labels. */
import { layoutDecoder } from "./decode.ts";
import { matchesPayload } from "./interpret.ts";
import { canboatDefinitionsOf, type Definition, type Field, isGroup, type Item } from "./model.ts";
import { hexBytes } from "./read.ts";
import type { Decoded, DecodedValue } from "./spec.ts";

/** A message in canboat's words. */
export interface CanboatMessage {
  /** Name of its definition; `Unknown PGN` without one. */
  description: string;
  /** By canboat's ids (`windSpeed`), in SI units, without fields that are not available. Of a message without definition: `data`. */
  fields: Decoded;
}

/** A value as canboat writes it; undefined: nothing is written. */
type Convert = (value: DecodedValue) => DecodedValue | undefined;

/** One field of a layout, or a list. */
interface CanboatItem {
  /** Key in the decoded object. */
  name: string;
  id: string;
  convert: Convert;
}

/** Decodes a payload; undefined: it is too short. */
type CanboatDecoder = (payload: Uint8Array) => Decoded | undefined;

const decoders = new WeakMap<Definition, CanboatDecoder>();

/**
 * Decodes the payload of a message as `analyzer -json -camel -si` of canboat does. Other than there, durations are numbers
 * of seconds, MMSIs are numbers, and times have no zeros at their end.
 */
export function decodeAsCanboat(pgn: number, payload: Uint8Array): CanboatMessage {
  const definition = canboatDefinitionsOf(pgn).find((each) => matchesPayload(each, payload));
  if (definition !== undefined) {
    let decoder = decoders.get(definition);
    if (decoder === undefined) decoders.set(definition, decoder = decoderOf(definition));
    const fields = decoder(payload);
    if (fields !== undefined) return { description: definition.description, fields };
  }
  return {
    description: definition?.description ?? "Unknown PGN",
    fields: { data: spaced(hexBytes(payload, 0, payload.length)) },
  };
}

function decoderOf(definition: Definition): CanboatDecoder {
  const decode = layoutDecoder(definition);
  const items = definition.items.flatMap(itemOf);
  return (payload) => {
    const decoded = decode(payload);
    return decoded && converted(decoded, items);
  };
}

function itemOf(item: Item): CanboatItem[] {
  if (isGroup(item)) return [{ name: item.group, id: item.group, convert: convertSets(item.fields.flatMap(itemOf)) }];
  const { name } = item;
  return name === undefined ? [] : [{ name, id: canboatId(name), convert: converterOf(item) }];
}

/** canboat's camelCase id of one of our names. */
export function canboatId(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function converterOf({ type }: Field): Convert {
  switch (type) {
    case "date":
      return (value) => typeof value === "string" ? value.replaceAll("-", ".") : available(value);
    case "binary":
      return (value) => typeof value === "string" ? spaced(value) : available(value);
    default:
      return available;
  }
}

function available(value: DecodedValue): DecodedValue | undefined {
  const isEmpty = value === null || value === "" || (Array.isArray(value) && value.length === 0);
  return isEmpty ? undefined : value;
}

function convertSets(items: readonly CanboatItem[]): Convert {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    return value.map((set) => isRecord(set) ? converted(set, items) : set);
  };
}

function isRecord(value: DecodedValue): value is Decoded {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function converted(decoded: Decoded, items: readonly CanboatItem[]): Decoded {
  const fields: Decoded = {};
  for (const { name, id, convert } of items) {
    const value = decoded[name];
    const written = value === undefined ? undefined : convert(value);
    if (written !== undefined) fields[id] = written;
  }
  return fields;
}

/** `0A FF` of `0aff`. */
function spaced(hex: string): string {
  return hex.replace(/..(?=.)/g, "$& ").toUpperCase();
}
