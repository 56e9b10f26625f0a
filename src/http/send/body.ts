import { apiText, described } from "../api_text.ts";
import { z } from "zod";
import { parseDuration } from "../../base/mod.ts";
import { BROADCAST_ADDRESS, isAddressed, MAX_MESSAGE_BYTES, MAX_PGN, NULL_ADDRESS } from "../../frame/mod.ts";
import type { Query, WantedMessage } from "../../transmit/mod.ts";
import { encode, EncodeError, type Fields, isFastPacket, PGN } from "../../pgn/mod.ts";
import { boundedList, HEX } from "../params.ts";
import { ApiError } from "../reply.ts";

const DEFAULT_PRIORITY = 6;
/** Maximum messages in one request. */
export const MAX_MESSAGES = 64;
const DEFAULT_QUERY_MS = 2000;
/** Refused: they carry parts of other messages and would bypass the send policy. */
const TRANSPORT_PGNS: readonly number[] = [PGN.transportControl, PGN.transportData];

const pgnNumber = z.int().min(0).max(MAX_PGN)
  .refine(
    (pgn) => !isAddressed(pgn) || (pgn & 0xff) === 0,
    "expected the lowest byte to be 0: it holds the destination",
  )
  .clone().register(apiText, { minimum: 0, maximum: MAX_PGN });
const sentPgn = pgnNumber.refine(
  (pgn) => !TRANSPORT_PGNS.includes(pgn),
  "the server fragments long messages itself",
);
const destination = z.int().min(0).max(BROADCAST_ADDRESS)
  .refine((dst) => dst !== NULL_ADDRESS, "254 is the null address, which no device has")
  .default(BROADCAST_ADDRESS);
const busName = described(z.string().min(1).optional(), "Name of a bus; default the first");

const messageSchema = z.strictObject({
  pgn: sentPgn,
  src: described(
    z.int().min(0).max(NULL_ADDRESS).optional(),
    "Source address; default 254, or the address of the virtual device if there is one",
  ),
  dst: described(destination, "255: broadcast. PGNs from 0xF000 on are always broadcast"),
  prio: z.int().min(0).max(7).default(DEFAULT_PRIORITY),
  data: z.string().regex(HEX, "expected hex digits, two for each byte").optional(),
  fields: z.custom<Fields>((value) => typeof value === "object" && value !== null && !Array.isArray(value), {
    error: "expected an object",
  }).optional()
    .clone().register(apiText, {
      type: "object",
      description: "Fields instead of `data`, as `decoded` has them: see /pgns/{pgn}",
    }),
  bus: busName,
}).clone().register(apiText, { refId: "Message" });

/** One message, or a list of which all or none are sent. */
export const sendBody = z.union([messageSchema, boundedList(messageSchema, { min: 1, max: MAX_MESSAGES })]);

type MessageBody = z.output<typeof messageSchema>;

/** Body of `POST /query`. */
export const queryBody = z.strictObject({
  pgn: pgnNumber,
  dst: described(destination, "Address of the device; 255: all devices"),
  timeout: described(z.string().optional(), "Maximum wait for the answer: PT2S, 500ms; default PT2S"),
  bus: busName,
  decode: described(z.boolean().default(false), "Add `decoded` to the answer"),
}).clone().register(apiText, { refId: "Query" });

/**
 * The messages of a body.
 *
 * @param buses names of the buses by index
 * @throws {ApiError} 400 naming the field
 */
export function messagesOf(body: z.output<typeof sendBody>, buses: readonly string[]): WantedMessage[] {
  const path = (index: number) => Array.isArray(body) ? `[${index}].` : "";
  return [body].flat().map((each, index) => messageOf(each, { buses, path: path(index) }));
}

function messageOf(body: MessageBody, { buses, path }: { buses: readonly string[]; path: string }): WantedMessage {
  const { pgn, src, prio } = body;
  const dst = isAddressed(pgn) ? body.dst : BROADCAST_ADDRESS;
  const data = payloadOf(body, path);
  if (data.length > MAX_MESSAGE_BYTES) {
    throw badField(
      `${path}data`,
      `expected at most ${MAX_MESSAGE_BYTES} bytes, got ${data.length}`,
    );
  }
  if (data.length === 0 && isFastPacket(pgn)) throw badField(`${path}data`, "a fast packet needs at least one byte");
  return { bus: busIndex(body.bus, { buses, path }), pgn, src, dst, prio, data };
}

function payloadOf({ pgn, data, fields }: MessageBody, path: string): Uint8Array {
  if ((data === undefined) === (fields === undefined)) {
    throw badField(`${path}data`, "expected either data or fields");
  }
  if (data !== undefined) return Uint8Array.fromHex(data);
  try {
    return encode(pgn, fields ?? {});
  } catch (error) {
    if (!(error instanceof EncodeError)) throw error;
    throw badField(`${path}fields${error.field === "" ? "" : `.${error.field}`}`, error.message);
  }
}

/** @throws {ApiError} 400 naming the field */
export function queryOf(
  { pgn, dst, timeout, bus }: z.output<typeof queryBody>,
  { buses, maxTimeoutMs }: { buses: readonly string[]; maxTimeoutMs: number },
): Query {
  return { pgn, dst, bus: busIndex(bus, { buses, path: "" }), timeoutMs: timeoutOf(timeout, maxTimeoutMs) };
}

function timeoutOf(text: string | undefined, maxMs: number): number {
  if (text === undefined) return Math.min(DEFAULT_QUERY_MS, maxMs);
  let ms: number;
  try {
    ms = parseDuration(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw badField("timeout", error.message);
  }
  if (ms > 0 && ms <= maxMs) return ms;
  throw badField(
    "timeout",
    `expected more than zero and at most ${maxMs / 1000} s (-query-max-timeout), got "${text}"`,
  );
}

function busIndex(name: string | undefined, { buses, path }: { buses: readonly string[]; path: string }): number {
  if (name === undefined) return 0;
  const index = buses.indexOf(name);
  if (index >= 0) return index;
  throw badField(`${path}bus`, `unknown bus "${name}": expected ${buses.map((each) => `"${each}"`).join(", ")}`);
}

function badField(field: string, why: string): ApiError {
  return new ApiError(400, `Field "${field}": ${why}`, { members: { field } });
}
