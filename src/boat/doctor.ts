import { AtomicFile, type Clock, JsonFile, type Logger, readJsonFile } from "../base/mod.ts";
import type { AssemblerDrops, CanBus } from "../can/mod.ts";
import { type BusReading, Doctor, parseDoctorState } from "../doctor/mod.ts";
import { type Message, pgnOfId, sourceOfId } from "../frame/mod.ts";
import type { ComponentHealth, DoctorReport } from "../http/mod.ts";

/** Name of the file in the state directory. */
const FILE = "doctor.json";
/** A larger file was not written by the server and is not read. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Interval of writing what was learned: often enough, and rarely for an SD card, milliseconds. */
const WRITE_MS = 10 * 60_000;
/** Drops of the assembler that this machine causes itself. */
const OWN_DROPS: readonly (keyof AssemblerDrops)[] = ["overflow"];

/** Options of the network doctor. */
export interface BoatDoctorOptions {
  /** Checks the buses for faults; default true. */
  doctor?: boolean;
  /** Most pairs of device and PGN that it tracks; default 4096. */
  doctorMaxStreams?: number;
  /** Directory for what it has learned; default none: what it has learned is lost at a restart. */
  stateDirectory?: string;
}

/** The network doctor of a boat server, with its file. */
export class BoatDoctor {
  readonly doctor: Doctor;
  readonly #buses: readonly CanBus[];
  readonly #drops: (bus: number) => Readonly<AssemblerDrops> | undefined;
  readonly #clock: Clock;
  readonly #file: JsonFile | undefined;
  readonly #log: Logger;
  #writtenMs: number;
  #fault: string | undefined;

  private constructor(
    doctor: Doctor,
    { buses, drops, clock, file, log }: DoctorContext & { file: AtomicFile | undefined },
  ) {
    this.doctor = doctor;
    this.#buses = buses;
    this.#drops = drops;
    this.#clock = clock;
    this.#log = log;
    this.#file = file && new JsonFile(file, { what: "doctor", content: () => doctor.state(), log });
    this.#writtenMs = clock.monoMs();
  }

  /** Reads what earlier runs have learned; undefined if the doctor is off. */
  static async open(
    { doctor: isOn = true, doctorMaxStreams: maxStreams, stateDirectory }: BoatDoctorOptions,
    context: DoctorContext,
  ): Promise<BoatDoctor | undefined> {
    if (!isOn) return undefined;
    const { buses, epoch, log } = context;
    const file = stateDirectory === undefined
      ? undefined
      : new AtomicFile(stateDirectory, { name: FILE, maxBytes: MAX_FILE_BYTES });
    const state = file && await readJsonFile(file, { what: "doctor", parse: parseDoctorState, log });
    const doctor = new Doctor({
      buses: buses.map(({ name }) => name),
      epoch,
      state,
      ...(maxStreams !== undefined && { maxStreams }),
    });
    return new BoatDoctor(doctor, { ...context, file });
  }

  /** Processes a published message. */
  message(message: Message, seq: number): void {
    this.#guard(() => this.doctor.message(message, seq));
  }

  /** A multi-frame message could not be completed. `id`: identifier of its frames. */
  incomplete(bus: number, id: number): void {
    this.#guard(() => this.doctor.incomplete({ bus, src: sourceOfId(id), pgn: pgnOfId(id) }));
  }

  /** Health by component; none while it works. */
  health(): Record<string, ComponentHealth> {
    if (this.#fault === undefined) return {};
    return { doctor: { status: "degraded", message: `it has stopped because of a fault: ${this.#fault}` } };
  }

  /** Evaluates the checks; called once a second. `nowMs`: all frames received until then have been processed. */
  runHousekeeping(nowMs: number): void {
    const { monoMs, wallUs } = { monoMs: this.#clock.monoMs(), wallUs: this.#clock.wallUs() };
    const timeUs = wallUs - (monoMs - nowMs) * 1000;
    const readings = this.#buses.map((bus, index) => readingOf(bus, this.#drops(index)));
    this.#guard(() => this.doctor.round({ monoMs: nowMs, timeUs }, readings));
    if (monoMs - this.#writtenMs < WRITE_MS) return;
    this.#writtenMs = monoMs;
    this.#file?.changed();
  }

  /** The findings, for the API. */
  report(): DoctorReport {
    return { findings: this.doctor.findings(), buses: this.doctor.loads() };
  }

  /** A fault of the doctor ends the doctor, and nothing else. */
  #guard(check: () => void): void {
    if (this.#fault !== undefined) return;
    try {
      check();
    } catch (error) {
      this.#fault = String(error);
      this.#log.error("the network doctor has stopped", { error: this.#fault });
    }
  }

  /** Writes what was learned. */
  async stop(): Promise<void> {
    this.#file?.changed();
    await this.#file?.close();
  }
}

interface DoctorContext {
  buses: readonly CanBus[];
  /** What the assembler of a bus has dropped. */
  drops: (bus: number) => Readonly<AssemblerDrops> | undefined;
  /** The current epoch, hex. */
  epoch: () => string;
  clock: Clock;
  log: Logger;
}

function readingOf({ state, counters }: CanBus, drops: Readonly<AssemblerDrops> | undefined): BusReading {
  const { kernelDropped, interfaceDropped, errors } = counters;
  const own = OWN_DROPS.reduce((sum, reason) => sum + (drops?.[reason] ?? 0), 0);
  return {
    controller: state.type === "up" ? state.controller : "down",
    lost: kernelDropped + interfaceDropped + own,
    errors,
  };
}
