import { formatName } from "../frame/mod.ts";
import type { Decoded } from "../pgn/mod.ts";
import { MAPPINGS } from "./mapping/mappings.ts";
import { type DeviceState, prepareOf } from "./mapping/prepare.ts";
import type { PgnMapping } from "./mapping/types.ts";
import { compileCondition, type CompiledRow, compileRow } from "./rows.ts";
import type { SignalKDelta, SignalKMessage, SignalKValue } from "./types.ts";

/** Context of the own vessel. */
export const SELF = "vessels.self";

/** Devices whose earlier messages are remembered for later ones: alert texts, kind of course, source of music. */
export const MAX_DEVICE_STATES = 256;

/** Digits of an MMSI. */
const MMSI_DIGITS = 9;

interface CompiledMapping {
  readonly mapping: PgnMapping;
  readonly holds: (decoded: Decoded) => boolean;
  readonly rows: readonly CompiledRow[];
}

const byPgn = new Map<number, PgnMapping[]>();
for (const mapping of MAPPINGS) {
  for (const pgn of pgnsOf(mapping)) byPgn.set(pgn, [...byPgn.get(pgn) ?? [], mapping]);
}

/** PGNs with values for Signal K. */
export const SIGNALK_PGNS: ReadonlySet<number> = new Set(byPgn.keys());

function pgnsOf({ pgn }: PgnMapping): readonly number[] {
  return typeof pgn === "number" ? [pgn] : pgn;
}

/** Compiled at the first message of a PGN. */
const compiled = new Map<number, readonly CompiledMapping[]>();

function mappingsOf(pgn: number): readonly CompiledMapping[] {
  let mappings = compiled.get(pgn);
  if (!mappings) {
    mappings = (byPgn.get(pgn) ?? []).map((mapping) => {
      const holds = compileCondition(mapping.when);
      return {
        mapping,
        holds: (decoded) => holds((name) => decoded[name]),
        rows: mapping.rows.map((row) => compileRow(row, pgn)),
      };
    });
    if (mappings.length > 0) compiled.set(pgn, mappings);
  }
  return mappings;
}

/** `$source` of a device: by its NAME, which stays when its address changes. */
export function sourceOf({ bus, name, src }: Pick<SignalKMessage, "bus" | "name" | "src">): string {
  return `${bus}.${name === undefined ? src : formatName(name).slice(2)}`;
}

/** Converts decoded messages to deltas of Signal K. Some PGNs refer to earlier ones of the same device, which it remembers. */
export class SignalKMapper {
  readonly #states = new Map<string, DeviceState>();

  /** The values of a message; undefined: it has none. */
  map(message: SignalKMessage): SignalKDelta | undefined {
    const mappings = mappingsOf(message.pgn);
    if (mappings.length === 0) return undefined;
    const source = sourceOf(message);
    const values: SignalKValue[] = [];
    let context: string | undefined = SELF;
    for (const { mapping, holds, rows } of mappings) {
      if (!holds(message.decoded)) continue;
      const { prepare } = mapping;
      const decoded = prepare === undefined
        ? message.decoded
        : prepareOf(prepare)(message.decoded, { message, state: this.#stateOf(source) });
      if (!decoded) continue;
      context = contextOf(mapping, decoded);
      if (context === undefined) return undefined;
      for (const row of rows) row(decoded, values);
    }
    if (values.length === 0) return undefined;
    const { pgn, src, timeUs } = message;
    return { context, source, pgn, src, timeUs, values };
  }

  #stateOf(source: string): DeviceState {
    const known = this.#states.get(source);
    if (known) return known;
    const state: DeviceState = { alertTexts: new Map() };
    this.#states.set(source, state);
    const [oldest] = this.#states.keys();
    if (this.#states.size > MAX_DEVICE_STATES && oldest !== undefined) this.#states.delete(oldest);
    return state;
  }
}

/** Undefined: AIS without a valid MMSI. */
function contextOf({ context }: PgnMapping, { user_id: id }: Decoded): string | undefined {
  if (context === undefined) return SELF;
  if (typeof id !== "number" || id === 0) return undefined;
  // Base stations and aircraft have leading zeros.
  const hasZeros = context === "shore.basestations" || context === "sar";
  const mmsi = hasZeros ? String(id).padStart(MMSI_DIGITS, "0") : String(id);
  return mmsi.length === MMSI_DIGITS ? `${context}.urn:mrn:imo:mmsi:${mmsi}` : undefined;
}
