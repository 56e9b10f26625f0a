import type { Alarm, AlarmWord } from "./sources.ts";

/** An alarm from its first to its last message. */
export interface AlarmInterval extends Alarm {
  bus: string;
  src: number;
  /** Times of the first and the last message that reported it, microseconds since 1970. */
  firstUs: number;
  lastUs: number;
  /** Time of the message that cleared it; undefined: no message did. */
  clearedUs: number | undefined;
  /** Number of messages that reported it. */
  count: number;
}

/** Origin and time of a message. */
export interface MessageOrigin {
  bus: string;
  src: number;
  timeUs: number;
}

/** Merges messages: the same alarm of the same device is one interval until it is cleared or silent for too long. */
export class AlarmIntervals {
  /** All intervals, sorted by their start. */
  readonly all: AlarmInterval[] = [];
  readonly #gapUs: number;
  readonly #open = new Map<string, AlarmInterval>();
  readonly #texts = new Map<string, string>();

  constructor({ gapMs }: { gapMs: number }) {
    this.#gapUs = gapMs * 1000;
  }

  /** Adds the next message. Times may go back a little; the order of calls counts. */
  add(word: AlarmWord, { bus, src, timeUs }: MessageOrigin): void {
    const device = `${bus} ${src}`;
    if (word.kind === "text") return this.#addText(`${device} ${word.code}`, word.detail);
    if (word.kind === "off") return this.#clear(word, { device, timeUs });
    const { alarm } = word;
    const key = `${device} ${alarm.source} ${alarm.code}`;
    const before = this.#open.get(key);
    if (before && timeUs - before.lastUs <= this.#gapUs) {
      before.lastUs = Math.max(before.lastUs, timeUs);
      before.count++;
      if (alarm.severity === "alarm") before.severity = "alarm";
      return;
    }
    const detail = this.#texts.get(`${device} ${alarm.code}`) ?? alarm.detail;
    const interval = { ...alarm, detail, bus, src, firstUs: timeUs, lastUs: timeUs, clearedUs: undefined, count: 1 };
    this.#open.set(key, interval);
    this.all.push(interval);
  }

  /** The text of an alert may arrive after the alert. */
  #addText(key: string, detail: string): void {
    this.#texts.set(key, detail);
    for (const interval of this.#open.values()) {
      if (interval.source === "alert" && `${interval.bus} ${interval.src} ${interval.code}` === key) {
        interval.detail = detail;
      }
    }
  }

  #clear(
    { source, code }: Extract<AlarmWord, { kind: "off" }>,
    { device, timeUs }: { device: string; timeUs: number },
  ): void {
    for (const [key, interval] of this.#open) {
      const isMeant = code === undefined
        ? key.startsWith(`${device} ${source} `)
        : key === `${device} ${source} ${code}`;
      if (!isMeant) continue;
      if (timeUs - interval.lastUs <= this.#gapUs) interval.clearedUs = timeUs;
      this.#open.delete(key);
    }
  }
}
