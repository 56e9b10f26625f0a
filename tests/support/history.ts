import { type Clock, type LogFields, Logger, silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { blocksRow } from "../../src/http/history/blocks.ts";
import { type HistoryIndex, historyRow } from "../../src/http/history/history.ts";
import type { HistoryTurns } from "../../src/http/history/turns.ts";
import { type SeriesLimits, seriesRow } from "../../src/http/series/series.ts";
import { voyageRows } from "../../src/http/voyages/routes.ts";
import { bindRows, serveRoutes } from "../../src/http/mod.ts";
import { JournalIndex } from "../../src/journal/index/journal_index.ts";
import { JournalWriter, type JournalWriterOptions } from "../../src/journal/writer/journal_writer.ts";
import type { SeriesRollup } from "../../src/series/mod.ts";
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

/** The history without a boat: a broker, and what the journal has. */
export class TestApi {
  readonly broker: Broker;
  readonly handle: (request: Request) => Promise<Response>;
  readonly fetch: (path: string) => Promise<Response>;

  constructor(
    { index, buses = ["can0"], clock = new FakeClock(), maxHistory, histories, seriesLimits, rollup }: {
      index?: HistoryIndex;
      buses?: readonly string[];
      clock?: Clock;
      maxHistory?: number;
      histories?: HistoryTurns;
      seriesLimits?: SeriesLimits;
      rollup?: SeriesRollup;
    },
  ) {
    const broker = this.broker = new Broker({ buses });
    const limits = {
      maxLimit: () => maxHistory,
      seriesLimits: () => seriesLimits ?? {},
      ...(histories && { histories }),
    };
    const table = bindRows([historyRow, blocksRow, seriesRow, ...voyageRows], {
      broker,
      clock,
      journal: index && { index },
      rollup: () => rollup,
      ...limits,
    });
    const handle = this.handle = serveRoutes(table, { title: "test", version: "0.0.0", log: silentLogger });
    this.fetch = (path) => handle(new Request(`http://boat${path}`));
  }

  /** The JSON of a path. */
  async get<T>(path: string): Promise<T> {
    const response = await this.fetch(path);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }
}
