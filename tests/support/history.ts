import { type Clock, type LogFields, Logger, silentLogger, StallDetector } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { type BoatApi, boatRoutes, judgeHealth, Metrics, serveRoutes, StreamHub } from "../../src/http/mod.ts";
import { JournalIndex } from "../../src/journal/journal_index.ts";
import { JournalWriter, type JournalWriterOptions } from "../../src/journal/journal_writer.ts";
import { FakeClock } from "./fake_clock.ts";

/** A logger that keeps its warnings: message and fields. */
export function keepWarnings(): { log: Logger; warnings: string[] } {
  const warnings: string[] = [];
  return { log: new Logger({ level: "warn", format: "json", write: (line) => warnings.push(line) }), warnings };
}

/** A line of a log, read back. */
export function readLine(line: string): LogFields & { message: string } {
  return JSON.parse(line);
}

/** A journal in a folder with small blocks: a writer, and an index that hears of it. */
export class TestJournal implements AsyncDisposable {
  readonly index: JournalIndex;
  readonly writer: JournalWriter;

  private constructor(index: JournalIndex, writer: JournalWriter) {
    this.index = index;
    this.writer = writer;
  }

  static async open(
    directory: string,
    { log = silentLogger, ...options }: Partial<JournalWriterOptions> = {},
  ): Promise<TestJournal> {
    const parts: { writer?: JournalWriter } = {};
    const index = await JournalIndex.open(directory, { log, unwritten: () => parts.writer?.unwritten() ?? [] });
    const writer = parts.writer = new JournalWriter({
      directory,
      blockBytes: 4096,
      buses: ["can0"],
      epoch: new Uint8Array(16).fill(7),
      clock: new FakeClock(),
      log,
      onWritten: (block) => index.noteWritten(block),
      ...options,
    });
    return new TestJournal(index, writer);
  }

  /** Appends messages, numbered from `firstSeq` on. Returns the number of the next. */
  append(firstSeq: number, messages: readonly Message[]): number {
    messages.forEach((each, i) => this.writer.append(firstSeq + i, each));
    return firstSeq + messages.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.writer.close();
  }
}

/** The boat's API without a boat: a broker, and what the journal has. */
export class TestApi implements Disposable {
  readonly broker: Broker;
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  readonly #hub: StreamHub;
  readonly #stall = new StallDetector(silentLogger);

  constructor(
    { index, buses = ["can0"], clock = new FakeClock(), log = silentLogger, ...limits }: {
      index?: JournalIndex;
      buses?: string[];
      clock?: Clock;
      log?: Logger;
      maxHistory?: number;
    },
  ) {
    const broker = this.broker = new Broker({ buses });
    const stall = this.#stall;
    const hub = this.#hub = new StreamHub({ broker, clock, stall });
    const api: BoatApi = {
      broker,
      hub,
      clock,
      metrics: new Metrics({ version: "0", broker, lines: [], hub, stall, identity: undefined }),
      health: () => judgeHealth({ broker, lines: [], busSilenceMs: undefined, startedMs: 0, nowMs: 0 }),
      limits: () => ({ maxStreams: 1, streamBufferBytes: 1000, ...limits }),
      ...(index && { journal: { index } }),
    };
    const handle = serveRoutes(boatRoutes(api), { title: "test", version: "0.0.0", log });
    this.fetch = (path, init) => handle(new Request(`http://boat${path}`, init));
  }

  /** The JSON of a path. */
  async get<T>(path: string): Promise<T> {
    const response = await this.fetch(path);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }

  [Symbol.dispose](): void {
    this.#hub.stop();
    this.#stall.stop();
  }
}
