import { badBytes, BstReader, GatewayClock } from "./bst.ts";
import { passed, type Reading, type RecordingContext, type RecordingReader } from "./recording.ts";

const [SOH, STX, ETX, LF, DLE, ESC] = [0x01, 0x02, 0x03, 0x0a, 0x10, 0x1b];

/** Record: the gateway's or computer's clock, 64 bits. */
const TIME_RECORD = 0x03;
/** Record: one binary message without checksum. */
const MESSAGE_RECORD = 0x07;
const TIME_RECORD_BYTES = 9;
/** 1970 in units of 100 ns since 1601. */
const YEAR_1970 = 116_444_736_000_000_000n;
/** Longest record or message: one of 1785 bytes with its header. Longer ones are not kept. */
const MAX_BYTES = 2048;

/**
 * Reads Actisense's binary log (EBL), of which there is no public description. Established from a recording
 * (`tests/data/actisense.ebl`), its candump twin and what Actisense publishes of its messages:
 *
 * - `ESC SOH`, a type byte, data, `ESC LF` is a record; an ESC in the file that is data stands twice, everywhere.
 * - Type 0x03 is a time: little-endian 64 bits of 100 ns, since 1601 in the recording. Recorders without a clock count
 *   from when they were switched on, so that what is before 1970 has no date.
 * - Type 0x01 has four bytes that say nothing of the traffic: a version.
 * - What stands between records is the gateway's serial line: `DLE STX`, a message, a byte that makes the sum zero,
 *   `DLE ETX`; a DLE that is data stands twice. ESC is undone first. Type 0x07 holds a message without all that; it is
 *   not in the recording, but in what others show of their own.
 * - In the recording source and destination of broadcasts are exchanged against Actisense's description: the candump
 *   twin tells which is which.
 */
export class EblReader implements RecordingReader {
  readonly #context: RecordingContext;
  readonly #clock: GatewayClock;
  readonly #messages: BstReader;
  readonly #record = new Collected();
  readonly #message = new Collected();
  readonly #stray = new Collected();
  #readings: Reading[] = [];
  #isAfterEsc = false;
  #isAfterDle = false;
  #originUs: number | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
    this.#clock = new GatewayClock(context);
    this.#messages = new BstReader(context, this.#clock);
  }

  push(chunk: Uint8Array): Iterable<Reading> {
    for (const byte of chunk) {
      if (this.#isAfterEsc) {
        this.#isAfterEsc = false;
        if (byte === ESC) this.#data(byte);
        else if (byte === SOH) this.#begin(this.#record);
        else if (byte === LF) this.#endRecord();
        else this.#drop(this.#record.isOpen ? this.#record : this.#message, "ESC before a byte that it cannot mean");
      } else if (byte === ESC) this.#isAfterEsc = true;
      else this.#data(byte);
    }
    return this.#take();
  }

  end(): Iterable<Reading> {
    this.#endStray();
    const open = [this.#record, this.#message].filter(({ isOpen }) => isOpen);
    for (const part of open) this.#drop(part, "cut off at the end");
    const isEscaped = this.#isAfterEsc || this.#isAfterDle;
    if (isEscaped && open.length === 0) this.#tell(badBytes("cut off at the end", new Uint8Array(0)));
    this.#isAfterEsc = this.#isAfterDle = false;
    return this.#take();
  }

  #tell(reading: Reading): void {
    this.#readings.push(reading);
  }

  #take(): Reading[] {
    const readings = this.#readings;
    this.#readings = [];
    return readings;
  }

  /** A byte of a record, or of the serial line when there is none. */
  #data(byte: number): void {
    if (this.#record.isOpen) return this.#add(this.#record, byte);
    if (!this.#isAfterDle) {
      if (byte === DLE) this.#isAfterDle = true;
      else this.#add(this.#message, byte);
      return;
    }
    this.#isAfterDle = false;
    if (byte === DLE) this.#add(this.#message, byte);
    else if (byte === STX) this.#begin(this.#message);
    else if (byte === ETX) this.#endMessage();
    else this.#drop(this.#message, "DLE before a byte that it cannot mean");
  }

  #begin(part: Collected): void {
    this.#endStray();
    if (part.isOpen) this.#drop(part, "cut off by the next one");
    part.open();
  }

  #add(part: Collected, byte: number): void {
    if (!part.isOpen) this.#stray.add(byte);
    else if (!part.add(byte)) this.#drop(part, `longer than ${MAX_BYTES} bytes`);
  }

  #drop(part: Collected, why: string): void {
    this.#endStray();
    this.#tell(badBytes(why, part.close()));
  }

  /** What belongs to nothing is told in one. */
  #endStray(): void {
    const { total } = this.#stray;
    if (total > 0) this.#tell(badBytes(`${total} bytes outside of all records`, this.#stray.close()));
  }

  #endMessage(): void {
    if (!this.#message.isOpen) return this.#drop(this.#message, "an end without a beginning");
    const bytes = this.#message.close();
    if (bytes.length < 3) this.#tell(badBytes("too short", bytes));
    else if (bytes.reduce((sum, byte) => sum + byte, 0) % 256 !== 0) this.#tell(badBytes("wrong checksum", bytes));
    else this.#tell(this.#messages.read(bytes.subarray(0, -1)));
  }

  #endRecord(): void {
    if (!this.#record.isOpen) return this.#drop(this.#record, "an end without a beginning");
    const bytes = this.#record.close();
    if (bytes[0] === TIME_RECORD) this.#tell(this.#time(bytes));
    else if (bytes[0] === MESSAGE_RECORD) this.#tell(this.#messages.read(bytes.subarray(1)));
    else this.#tell(bytes.length > 0 ? passed("status") : badBytes("empty", bytes));
  }

  #time(bytes: Uint8Array): Reading {
    if (bytes.length !== TIME_RECORD_BYTES) return badBytes("wrong length of a time", bytes);
    const ticks = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(1, true);
    const hasDate = ticks >= YEAR_1970;
    const us = Number((hasDate ? ticks - YEAR_1970 : ticks) / 10n);
    if (!Number.isSafeInteger(us)) return badBytes("no time that can be", bytes);
    if (!hasDate) {
      this.#context.note("times_from_start");
      this.#originUs ??= this.#context.startUs() - us;
    }
    this.#clock.set(hasDate ? us : us + (this.#originUs ?? 0));
    return passed("status");
  }
}

/** Bytes between a beginning and an end. */
class Collected {
  readonly #bytes = new Uint8Array(MAX_BYTES);
  isOpen = false;
  /** Bytes that came, of which not all need be kept. */
  total = 0;

  open(): void {
    this.isOpen = true;
    this.total = 0;
  }

  /** False when there is no more room. */
  add(byte: number): boolean {
    if (this.total < MAX_BYTES) this.#bytes[this.total] = byte;
    this.total++;
    return this.total <= MAX_BYTES;
  }

  /** A copy of what is kept. */
  close(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.slice(0, Math.min(this.total, MAX_BYTES));
    this.isOpen = false;
    this.total = 0;
    return bytes;
  }
}
