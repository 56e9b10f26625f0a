import type { Filter } from "../filter/mod.ts";
import { checkExpression } from "./check.ts";
import { compileExpression, type DeviceAt, type WhereFrame } from "./compile.ts";
import type { PgnCatalog } from "./fields.ts";
import { parseExpression } from "./parse.ts";
import { filterOf } from "./pins.ts";

/** An expression as one predicate. */
export interface Where {
  /** Whether a frame matches. Calls `deviceAt` only if the result depends on a device. */
  test(frame: WhereFrame, deviceAt?: DeviceAt): boolean;
  /** The part that a server can filter by: every frame that matches passes it. Empty: all frames. */
  readonly filter: Filter;
}

/**
 * Reads a filter expression.
 *
 * ```
 * expression  or, ||   and, &&   not, !   ( )                          lowest precedence first
 * comparison  FIELD == != < <= > >= VALUE   FIELD contains VALUE   FIELD in [VALUE, …]   FIELD not in [VALUE, …]
 * FIELD       pgn src dst prio seq bus                                 of the frame
 *             src.manufacturer dst.model_id … name instance class     of its sender or its addressed device
 *             wind_speed   register.name   satellites.prn             of the decoded payload, as in its JSON;
 *             decoded.pgn                                             if a field has one of the names above
 * VALUE       12 -1.5 2e3 0x1F   15 kn   20 °C   "text" 'text'   true false null
 * ```
 *
 * - A field that is missing, or in a payload that cannot be decoded, is null. `== null` and `!= null` ask for that;
 *   every other comparison with null is false, `!=` included. `not` inverts the result: `not depth > 3` is true if
 *   there is no depth.
 * - A number with a unit (`15 kn`, `90 deg`, `20 C`, `0.5 nm`) is compared in that unit; `==` then means equal within
 *   the field's step. A number without one is in the unit of the JSON. Texts and labels are compared without regard to
 *   case, also the labels of numbers that are codes (`fluid_type == "Fuel"`); `<`, `<=`, `>` and `>=` use alphabetical
 *   order. A lookup is compared with a text by its name, with a number by its id. A text that holds a number (an MMSI)
 *   is compared with a number as a number. Values of different kinds never match, `!=` included.
 * - `contains`: the text is part of it. `in`: equal to one of the list; `not in` is `not (… in …)`.
 * - A list matches when any of its elements does; an empty one never.
 *
 * @param catalog describes PGNs, now and while frames are tested
 * @throws {WhereError} with the column, and what was expected there. If the expression restricts the PGN
 * (`pgn == 127250 and …`), also for fields that it does not have, and values that its fields cannot have.
 *
 * @example
 * ```ts ignore
 * const catalog = { describe: describePgn, list: listPgns };
 * const where = parseWhere('pgn == 127250 and heading > 1.5 and src.manufacturer == "Garmin"', catalog);
 * where.test(frame, (bus, src) => devices.get(bus, src));
 * ```
 */
export function parseWhere(source: string, catalog: PgnCatalog): Where {
  const expression = parseExpression(source);
  checkExpression(expression, { source, catalog: remembering(catalog) });
  const test = compileExpression(expression, catalog);
  return { test: (frame, deviceAt = noDevice) => test(frame, deviceAt), filter: filterOf(expression) };
}

/** A catalog for one check: describing all PGNs takes 0.1 s, and an expression may have hundreds of units. */
function remembering(catalog: PgnCatalog): PgnCatalog {
  const described = new Map<number, ReturnType<PgnCatalog["describe"]>>();
  return {
    list: () => catalog.list(),
    describe: (pgn) => {
      if (!described.has(pgn)) described.set(pgn, catalog.describe(pgn));
      return described.get(pgn);
    },
  };
}

function noDevice(): undefined {}
