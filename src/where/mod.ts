/**
 * Filter expressions: what `-where` of the command line and the filter of the page take. Needs neither Deno nor the PGN
 * definitions: a {@linkcode PgnCatalog} describes them.
 *
 * @module
 */
export type { Filter } from "../filter/mod.ts";
export type { Device, Frame } from "../frame/mod.ts";
export type { DescribedField } from "../units/mod.ts";
export type { DeviceAt, WhereFrame } from "./compile.ts";
export { doubtFields, manufacturersIn } from "./doubt.ts";
export type { PgnCatalog } from "./fields.ts";
export { MAX_WHERE_DEPTH, MAX_WHERE_LENGTH } from "./parse.ts";
export type { Span } from "./tokens.ts";
export { WhereError } from "./tokens.ts";
export { parseWhere, type Where } from "./where.ts";
