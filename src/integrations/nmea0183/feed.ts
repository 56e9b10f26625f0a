import type { Clock } from "../../base/mod.ts";
import type { Broker, Subscription } from "../../broker/mod.ts";
import { formatName, newStoredFrame, sourceOfId } from "../../frame/mod.ts";
import type { DecodedValues, Quantity, SourceDevice } from "../../quantities/mod.ts";
import { AIS_PGNS, aisReport } from "./ais.ts";
import { MessageTable } from "./message_table.ts";
import { Schedule, type SentenceInterval } from "./schedule.ts";
import { linesOf, SENTENCE_PGNS } from "./sentences.ts";
import { SentenceValues } from "./values.ts";

/** Messages that may wait; a power of two. From half of them on they are read at once. */
const WAITING_MESSAGES = 1024;
/** Messages from one receiver: those of another one about the same vessel are copies until it was silent for this time. */
const COPY_MS = 30_000;
/** Vessels whose receiver is remembered; beyond, the oldest is forgotten. */
const MAX_VESSELS = 4096;
const GROUPS = 10;

/** Which sentences are made. */
export interface FeedSettings {
  /** The sentences, each with its interval. */
  sentences: readonly SentenceInterval[];
  /** Make sentences of AIS messages. */
  ais: boolean;
  /** Talker of all sentences but AIS; default: `GP` for position and route, `II` for others. */
  talker?: string | undefined;
}

/**
 * Sentences of a broker's messages. AIS messages become sentences one by one; of everything else the newest values of the
 * preferred sources are sent at intervals.
 */
export class SentenceFeed {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #settings: FeedSettings;
  readonly #quantities: () => readonly Quantity[];
  readonly #subscription: Subscription;
  readonly #messages = new MessageTable(SENTENCE_PGNS);
  readonly #schedule: Schedule;
  readonly #frame = newStoredFrame();
  /** By PGN and MMSI: the receiver in use. */
  readonly #receivers = new Map<string, { device: string; address: string; atMs: number }>();
  readonly #own = new Set<number>();
  #aisLines: string[] = [];
  #group = 0;

  constructor({ broker, clock, settings, quantities }: {
    broker: Broker;
    clock: Clock;
    settings: FeedSettings;
    quantities: () => readonly Quantity[];
  }) {
    this.#broker = broker;
    this.#clock = clock;
    this.#settings = settings;
    this.#quantities = quantities;
    this.#schedule = new Schedule(settings.sentences);
    const pgns = new Set([...SENTENCE_PGNS.keys(), ...(settings.ais ? AIS_PGNS : [])]);
    this.#subscription = broker.subscribe({
      capacity: WAITING_MESSAGES,
      accept: (_bus, _src, pgn) => {
        if (!pgns.has(pgn)) return false;
        if (this.#subscription.waiting >= WAITING_MESSAGES / 2) this.#read();
        return true;
      },
      beforeClear: () => this.#read(),
    });
  }

  /** The lines that are due now. Without `isWanted` messages are read, and no lines made. */
  lines(isWanted: boolean): string[] {
    this.#read();
    const lines = this.#aisLines;
    this.#aisLines = [];
    if (!isWanted) return [];
    const nowMs = this.#clock.monoMs();
    const due = this.#schedule.due(nowMs);
    if (due.length === 0) return lines;
    const values = new SentenceValues(this.#quantities(), { messages: this.#messages, nowMs });
    for (const row of due) lines.push(...linesOf(row, { values, talker: this.#settings.talker }));
    return lines;
  }

  stop(): void {
    this.#broker.unsubscribe(this.#subscription);
  }

  #read(): void {
    this.#subscription.drain((seq) => {
      const frame = this.#frame;
      if (!this.#broker.ring.read(seq, frame)) return;
      const { bus, id, pgn, timeUs, data, offset, length } = frame;
      const decoded = this.#broker.decoder.decode(pgn, data.subarray(offset, offset + length));
      if (!decoded) return;
      const device = this.#deviceAt(bus, sourceOfId(id));
      const atMs = this.#clock.monoMs();
      if (SENTENCE_PGNS.has(pgn)) this.#messages.note(pgn, { decoded, device, timeMs: timeUs / 1000, atMs });
      else {
        const address = `${bus}/${device.src}`;
        this.#ais(pgn, { decoded, device: device.name || address, address, atMs });
      }
    });
  }

  #ais(
    pgn: number,
    { decoded, ...receiver }: { decoded: DecodedValues; device: string; address: string; atMs: number },
  ): void {
    const report = aisReport(pgn, { decoded, group: this.#group, isOwnMmsi: (mmsi) => this.#own.has(mmsi) });
    if (!report || this.#isCopy(`${pgn}/${report.mmsi}`, receiver)) return;
    if (report.isOwn && this.#own.size < MAX_VESSELS) this.#own.add(report.mmsi);
    this.#aisLines.push(...report.lines);
    if (report.lines.length > 1) this.#group = (this.#group + 1) % GROUPS;
  }

  /** True if another device reported this before and still does: plotters pass on what the receiver sends. */
  #isCopy(key: string, receiver: { device: string; address: string; atMs: number }): boolean {
    const known = this.#receivers.get(key);
    // A device whose NAME becomes known, or that moves to another address, is the same one.
    const isOther = known && known.device !== receiver.device && known.address !== receiver.address;
    if (isOther && receiver.atMs - known.atMs < COPY_MS) return true;
    // Set again, so that the first one is the oldest.
    this.#receivers.delete(key);
    this.#receivers.set(key, receiver);
    if (this.#receivers.size > MAX_VESSELS) {
      const [oldest] = this.#receivers.keys();
      if (oldest !== undefined) this.#receivers.delete(oldest);
    }
    return false;
  }

  #deviceAt(bus: number, src: number): SourceDevice {
    const name = this.#broker.registry.get(bus, src)?.name;
    const busName = this.#broker.buses.length > 1 ? this.#broker.buses[bus] : undefined;
    return { name: name === undefined ? "" : formatName(name), src, ...(busName !== undefined && { bus: busName }) };
  }
}
