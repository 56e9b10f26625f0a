import { Broker } from "../../src/broker/mod.ts";
import { SentenceFeed } from "../../src/integrations/nmea0183/feed.ts";
import { SENTENCES } from "../../src/integrations/nmea0183/sentences.ts";
import { encode } from "../../src/pgn/mod.ts";
import { SourceWatch } from "../../src/stream/live/source_watch.ts";
import { FakeClock } from "./fake_clock.ts";
import { message } from "./messages.ts";
import { environment, needs } from "./needs.ts";

const PYTHON = environment("VBG_TEST_PYTHON");
/** Tests with pynmea2 and pyais: VBG_TEST_PYTHON names a Python that has both. */
export const PYTHON_NMEA = needs({
  permissions: ["run", "read", "env"],
  others: { "pynmea2 and pyais (VBG_TEST_PYTHON)": PYTHON !== undefined },
});

/** Degrees as radians. */
export const rad = (degrees: number): number => degrees * Math.PI / 180;

/** The three letters of each sentence. */
export function idsOf(lines: readonly string[]): string[] {
  return lines.map((line) => line.slice(3, 6));
}

/** A sentence as pynmea2 or pyais reads it. */
export interface ParsedSentence {
  talker: string;
  type: string;
  values: Record<string, unknown>;
}

/** Parses lines with pynmea2 and pyais. @throws {Error} one of them is refused */
export async function parseSentences(lines: readonly string[]): Promise<ParsedSentence[]> {
  const script = new URL("nmea0183_oracle.py", import.meta.url).pathname;
  const child = new Deno.Command(PYTHON ?? "python3", {
    args: [script],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(lines.join(""))).catch(() => {});
  await writer.close().catch(() => {});
  const { success, stdout, stderr } = await output;
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim().split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** A feed of all sentences, AIS included, on a broker and a clock of its own. */
export class TestFeed implements Disposable {
  readonly clock = new FakeClock();
  readonly broker = new Broker({ buses: ["can0"] });
  readonly #watch = new SourceWatch(this);
  readonly #feed: SentenceFeed;

  constructor({ talker, everyMs = {} }: { talker?: string; everyMs?: Record<string, number> } = {}) {
    const sentences = SENTENCES.map((row) => ({ row, everyMs: everyMs[row.id] ?? 1000 }));
    const quantities = () => this.#watch.list();
    this.#feed = new SentenceFeed({ ...this, quantities, settings: { sentences, ais: true, talker } });
  }

  /** Publishes a message with these fields. */
  say(pgn: number, fields: Record<string, unknown>, src = 1): void {
    const data = encode(pgn, fields as Parameters<typeof encode>[1]);
    this.broker.publish(message({ pgn, src, data, monoMs: this.clock.monoMs() }));
  }

  /** A device claims its address. */
  claim(src: number): void {
    const data = new Uint8Array(8).fill(src);
    this.broker.publish(message({ pgn: 60928, src, data, monoMs: this.clock.monoMs() }));
  }

  /** The lines that are due. */
  lines(): string[] {
    return this.#feed.lines(true);
  }

  [Symbol.dispose](): void {
    this.#feed.stop();
    this.#watch.stop();
  }
}
