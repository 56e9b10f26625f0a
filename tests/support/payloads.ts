import { Assembler } from "../../src/can/mod.ts";
import type { CanFrame } from "../../src/frame/mod.ts";
import vectors from "../data/pgn_vectors.json" with { type: "json" };
import { readAnalyzed } from "./analyzer.ts";
import { parseCandump } from "./candump.ts";

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
