import { Assembler } from "../../src/can/mod.ts";
import type { CanFrame } from "../../src/frame/mod.ts";
import type { Definition } from "../../src/pgn/model.ts";
import vectors from "../data/pgn_vectors.json" with { type: "json" };
import { readAnalyzed } from "./analyzer.ts";
import { parseCandump } from "./candump.ts";
import type { Random } from "./random.ts";

/** A message as decoders see it. */
export interface Payload {
  pgn: number;
  payload: Uint8Array<ArrayBuffer>;
}

const RECORDINGS = ["candump_sample3.txt", "candump_sample1_head.txt"];

/** The messages that a recording of the bus holds, put together. */
function messagesOf(text: string): Payload[] {
  const messages: Payload[] = [];
  const assembler = new Assembler(({ pgn, data, offset, length }) => {
    messages.push({ pgn, payload: new Uint8Array(data.subarray(offset, offset + length)) });
  });
  let monoMs = 0;
  for (const { id, data, timeUs = 0 } of parseCandump(text)) {
    const frame: CanFrame = { id, timeUs, monoMs: monoMs += 0.5, data, offset: 0, length: data.length };
    assembler.push(frame);
  }
  return messages;
}

/** All recorded payloads of the test data: two buses, and one of a kind of each PGN that canboat has recordings of. */
export async function recordedPayloads(): Promise<Payload[]> {
  const texts = await Promise.all(
    RECORDINGS.map((name) => Deno.readTextFile(new URL(`../data/${name}`, import.meta.url))),
  );
  const analyzed = await readAnalyzed();
  return [...texts.flatMap(messagesOf), ...analyzed.map(({ pgn, hex }) => ({ pgn, payload: Uint8Array.fromHex(hex) }))];
}

/** The payloads of `tests/data/pgn_vectors.json`. */
export function vectorPayloads(): Payload[] {
  return vectors.map(({ pgn, hex }) => ({ pgn, payload: Uint8Array.fromHex(hex) }));
}

/** Writes a raw value where a discriminator lies, as far as the payload goes. */
function put(payload: Uint8Array, bit: number, { bits, value }: { bits: number; value: number }): void {
  for (let index = 0; index < bits; index++) {
    const [at, mask] = [(bit + index) >>> 3, 1 << ((bit + index) & 7)];
    if (at >= payload.length) return;
    payload[at] = Math.floor(value / 2 ** index) % 2 === 1 ? payload[at]! | mask : payload[at]! & ~mask;
  }
}

/** Random bytes that are a payload of this layout: now and then too short, too long, or full of ones. */
export function randomPayload(random: Random, { fixedBits, matches }: Definition): Uint8Array<ArrayBuffer> {
  const whole = Math.ceil(fixedBits / 8);
  const length = random.chance(0.6) ? whole : random.int(whole + 40);
  const payload = random.bytes(length);
  if (random.chance(0.2)) payload.fill(0xff, random.int(length + 1));
  for (const { bit, field } of matches) put(payload, bit, { bits: field.bits ?? 0, value: field.match ?? 0 });
  return payload;
}
