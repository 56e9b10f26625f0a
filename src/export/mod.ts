/**
 * Messages as files of other programs: tables (CSV, Parquet), CAN frames (pcap, candump), and lines of canboat's analyzer. A
 * {@linkcode MessageWriter} makes bytes of messages, without I/O; its memory does not grow with their number.
 *
 * @module
 */
export type { StoredFrame } from "../frame/mod.ts";
export * from "./formats.ts";
export type { MessageWriter } from "./message_writer.ts";
export type * from "./origins.ts";
export * from "./pgn_files.ts";
export { type Column, type ColumnType, type FieldColumn, MESSAGES, type Table, tableOf } from "./tables.ts";
