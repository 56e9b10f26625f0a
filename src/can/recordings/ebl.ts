import { badBytes, BstReader, GatewayClock } from "./bst.ts";
import { BstLine, Collected, MAX_BST_BYTES } from "./bst_line.ts";
import { assumedStartUs } from "./clocks.ts";
import { passed, type Reading, type RecordingContext, type RecordingReader } from "./recording.ts";

const [SOH, LF, ESC] = [0x01, 0x0a, 0x1b];

/** Record: the gateway's or computer's clock, 64 bits. */
const TIME_RECORD = 0x03;
/** Record: one binary message without checksum. */
const MESSAGE_RECORD = 0x07;
const TIME_RECORD_BYTES = 9;
/** 1970 in units of 100 ns since 1601. */
const YEAR_1970 = 116_444_736_000_000_000n;

/**
 * Reads Actisense's binary log (EBL). There is no public description; this one is derived from a recording
 * (`tests/data/actisense.ebl`), the candump recording of the same traffic and what Actisense publishes of its messages:
 *
 * - A record is `ESC SOH`, a type byte, data, `ESC LF`. Everywhere in the file an ESC in the data is doubled.
 * - Type 0x03 is a time: 64 bits, little-endian, in units of 100 ns, since 1601 in the recording. Recorders without a clock
 *   count from power-on, so times before 1970 have no date.
 * - Type 0x01 has four bytes: a version.
 * - Data between records is that of the gateway's serial line ({@linkcode BstLine}), after removing doubled ESC. Type 0x07 holds
 *   a message without its framing; it is not in the recording but in published examples.
 * - In the recording, source and destination of broadcasts are exchanged compared to Actisense's description, as the candump
 *   recording shows.
 */
export class EblReader implements RecordingReader {
  readonly #context: RecordingContext;
  readonly #clock: GatewayClock;
  readonly #messages: BstReader;
  readonly #record = new Collected();
  readonly #line: BstLine;
  #isAfterEsc = false;
  #originUs: number | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
    this.#clock = new GatewayClock(context);
    this.#messages = new BstReader(context, this.#clock);
    this.#line = new BstLine(this.#messages);
  }

  push(chunk: Uint8Array): Iterable<Reading> {
    for (const byte of chunk) {
      if (this.#isAfterEsc) {
        this.#isAfterEsc = false;
        if (byte === ESC) this.#data(byte);
        else if (byte === SOH) this.#beginRecord();
        else if (byte === LF) this.#endRecord();
        else this.#drop("invalid byte after ESC");
      } else if (byte === ESC) this.#isAfterEsc = true;
      else this.#data(byte);
    }
    return this.#line.takeReadings();
  }

  end(): Iterable<Reading> {
    this.#line.endStray();
    const isOpen = this.#record.isOpen || this.#line.isOpen;
    if (this.#record.isOpen) this.#dropRecord("cut off at the end");
    this.#line.end({ isCut: this.#isAfterEsc && !isOpen });
    this.#isAfterEsc = false;
    return this.#line.takeReadings();
  }

  /** Processes a byte of a record, or of the serial line outside records. */
  #data(byte: number): void {
    if (!this.#record.isOpen) this.#line.push(byte);
    else if (!this.#record.add(byte)) this.#dropRecord(`longer than ${MAX_BST_BYTES} bytes`);
  }

  #beginRecord(): void {
    this.#line.endStray();
    if (this.#record.isOpen) this.#dropRecord("cut off by the next one");
    this.#record.open();
  }

  #drop(why: string): void {
    if (this.#record.isOpen) this.#dropRecord(why);
    else this.#line.drop(why);
  }

  #dropRecord(why: string): void {
    this.#line.endStray();
    this.#line.report(badBytes(why, this.#record.close()));
  }

  #endRecord(): void {
    if (!this.#record.isOpen) return this.#dropRecord("an end without a beginning");
    const bytes = this.#record.close();
    if (bytes[0] === TIME_RECORD) this.#line.report(this.#time(bytes));
    else if (bytes[0] === MESSAGE_RECORD) this.#line.report(this.#messages.read(bytes.subarray(1)));
    else this.#line.report(bytes.length > 0 ? passed("status") : badBytes("empty", bytes));
  }

  #time(bytes: Uint8Array): Reading {
    if (bytes.length !== TIME_RECORD_BYTES) return badBytes("wrong length of a time", bytes);
    const ticks = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(1, true);
    const hasDate = ticks >= YEAR_1970;
    const us = Number((hasDate ? ticks - YEAR_1970 : ticks) / 10n);
    if (!Number.isSafeInteger(us)) return badBytes("invalid time", bytes);
    if (!hasDate) this.#originUs ??= assumedStartUs(this.#context) - us;
    this.#clock.set(hasDate ? us : us + (this.#originUs ?? 0));
    return passed("status");
  }
}
