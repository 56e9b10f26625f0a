import { type Clock, FileError, type Logger, systemClock } from "../base/mod.ts";
import { buildCanId, type Device, type Frame, readHex, readName } from "../frame/mod.ts";
import { type BlockDevice, Journal, JOURNAL_DIRECTORY_MODE, MAX_BUSES } from "../journal/mod.ts";

/** Options of a {@linkcode FrameRecorder}. */
export interface FrameRecorderOptions {
  /** Directory of the journal; created if missing. An existing journal is continued. */
  directory: string;
  /** Known devices of the server. */
  devices?: readonly Device[];
  /** Gets write failures. */
  log: Logger;
  /** Default: the system's clocks. */
  clock?: Clock;
}

/** Records the frames of a remote server in a journal. It assigns its own sequence numbers, which continue at the next start. */
export class FrameRecorder {
  readonly #journal: Journal;
  readonly #buses: string[];
  readonly #devices: Map<string, BlockDevice>;
  readonly #clock: Clock;

  private constructor(
    journal: Journal,
    { buses, devices, clock }: { buses: string[]; devices: Map<string, BlockDevice>; clock: Clock },
  ) {
    this.#journal = journal;
    this.#buses = buses;
    this.#devices = devices;
    this.#clock = clock;
  }

  /** Opens the journal. @throws {FileError} the directory is in use by another process, or cannot be written */
  static async open(
    { directory, devices: initialDevices = [], log, clock = systemClock }: FrameRecorderOptions,
  ): Promise<FrameRecorder> {
    const buses: string[] = [];
    const devices = new Map<string, BlockDevice>();
    await Deno.mkdir(directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE }).catch((cause: unknown) => {
      throw new FileError("record in", { path: directory, cause });
    });
    const journal = await Journal.open({
      directory,
      stateDirectory: directory,
      buses,
      hasForeignTimes: true,
      devices: () => [...devices.values()],
      productOf: (bus, src) => devices.get(`${bus}/${src}`),
      clock,
      log,
    });
    const recorder = new FrameRecorder(journal, { buses, devices, clock });
    for (const device of initialDevices) recorder.learn(device);
    return recorder;
  }

  /** Why writing fails; undefined while it works. */
  get failure(): string | undefined {
    return this.#journal.state.kind === "failing" ? this.#journal.state.reason : undefined;
  }

  /** Adds or updates a device of the server. */
  learn(device: Device): void {
    const name = readName(device.name ?? "");
    if (name === undefined) return;
    const bus = this.#indexOf(device.bus);
    this.#devices.set(`${bus}/${device.src}`, {
      bus,
      src: device.src,
      name,
      activeFrom: 0,
      productCode: device.product_code ?? 0,
      modelId: device.model_id ?? "",
      softwareVersion: device.software_version ?? "",
      modelVersion: device.model_version ?? "",
      modelSerial: device.model_serial ?? "",
    });
  }

  /** Records a frame. @throws {Error} the journal's limit of buses is reached */
  record(frame: Frame): void {
    const data = readHex(frame.data) ?? new Uint8Array(0);
    this.#journal.append(this.#journal.next(), {
      id: buildCanId(frame),
      pgn: frame.pgn,
      bus: this.#indexOf(frame.bus),
      timeUs: Date.parse(frame.ts) * 1000,
      monoMs: this.#clock.monoMs(),
      data,
      offset: 0,
      length: data.length,
    });
  }

  /** Resolves when every recorded frame is synced to disk. Does not resolve while writing fails. */
  sync(): Promise<void> {
    return this.#journal.sync();
  }

  /** Writes everything to disk and unlocks the directory. */
  async close(): Promise<void> {
    await this.#journal.close();
  }

  #indexOf(bus = ""): number {
    const index = this.#buses.indexOf(bus);
    if (index >= 0) return index;
    if (this.#buses.length >= MAX_BUSES) {
      throw new Error(`Cannot record bus "${bus}": a journal has at most ${MAX_BUSES} buses`);
    }
    return this.#buses.push(bus) - 1;
  }
}
