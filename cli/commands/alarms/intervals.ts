import type { Alarm, AlarmWord } from "./sources.ts";

/** Something that was wrong for a while. */
export interface AlarmInterval extends Alarm {
  /** Name of the bus. */
  bus: string;
  /** Address of the device. */
  src: number;
  /** First and last message that told it, microseconds since 1970. */
  firstUs: number;
  lastUs: number;
  /** When it was told that all is well; undefined: it was not told. */
  clearedUs: number | undefined;
  /** Messages that told it. */
  count: number;
}

/** Who said something, and when. */
export interface Speaker {
  bus: string;
  src: number;
  timeUs: number;
}

/** Puts messages together: the same alarm of the same device is one episode until it is silent for longer, or is told to be over. */
export class AlarmIntervals {
  /** All of them, in the order in which they began. */
  readonly all: AlarmInterval[] = [];
  readonly #gapUs: number;
  readonly #open = new Map<string, AlarmInterval>();
  readonly #texts = new Map<string, string>();

  constructor({ gapMs }: { gapMs: number }) {
    this.#gapUs = gapMs * 1000;
  }

  /** The next message. Times may go back a little; the order of messages counts. */
  add(word: AlarmWord, { bus, src, timeUs }: Speaker): void {
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
    const episode = { ...alarm, detail, bus, src, firstUs: timeUs, lastUs: timeUs, clearedUs: undefined, count: 1 };
    this.#open.set(key, episode);
    this.all.push(episode);
  }

  /** A text may come behind its alert. */
  #addText(place: string, detail: string): void {
    this.#texts.set(place, detail);
    for (const episode of this.#open.values()) {
      if (episode.source === "alert" && `${episode.bus} ${episode.src} ${episode.code}` === place) {
        episode.detail = detail;
      }
    }
  }

  #clear(
    { source, code }: Extract<AlarmWord, { kind: "off" }>,
    { device, timeUs }: { device: string; timeUs: number },
  ): void {
    for (const [key, episode] of this.#open) {
      const isMeant = code === undefined
        ? key.startsWith(`${device} ${source} `)
        : key === `${device} ${source} ${code}`;
      if (!isMeant) continue;
      if (timeUs - episode.lastUs <= this.#gapUs) episode.clearedUs = timeUs;
      this.#open.delete(key);
    }
  }
}
