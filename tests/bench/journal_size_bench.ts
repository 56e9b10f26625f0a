import { Assembler } from "../../src/can/mod.ts";
import { BlockBuilder, type BlockDevice, compress, compressSmall } from "../../src/journal/mod.ts";
import { SimulatedBoat, type SimulatedDevice } from "../../src/simulator/mod.ts";
import { Random } from "../support/random.ts";
import { report } from "./figure.ts";

const HOURS = 1;
const START_US = Date.UTC(2025, 5, 15, 12) * 1000;
const CLOCK = { wallUs: () => START_US, monoMs: () => 0 };
/** A CAN bus of NMEA 2000 has 250 kbit/s; a frame with stuffed bits and its gap to the next has so many beside its data. */
const BIT_US = 4;
const FRAME_BITS = 77;
/** Devices are late by up to so much: they have other things to do. */
const MAX_LATE_US = 500;

function blockDevice({ name, address = 0, spec: { product } }: SimulatedDevice): BlockDevice {
  const texts = {
    modelId: String(product.model_id),
    softwareVersion: String(product.software_version),
    modelVersion: String(product.model_version),
    modelSerial: String(product.model_serial),
  };
  return { bus: 0, src: address, name, activeFrom: 0, productCode: Number(product.product_code), ...texts };
}

/** Blocks of what the simulated boat says, as a journal makes them. */
class Recorded {
  readonly blocks: Uint8Array<ArrayBuffer>[] = [];
  messages = 0;
  readonly #devices: () => BlockDevice[];
  readonly #builder = new BlockBuilder();
  readonly #assembler = new Assembler((message) => {
    this.messages++;
    if (this.#builder.append(this.messages, message) === "added") return;
    this.#end();
    this.#builder.append(this.messages, message);
  });

  constructor(devices: () => BlockDevice[]) {
    this.#devices = devices;
    this.#builder.begin();
  }

  push(timeUs: number, { id, data }: { id: number; data: Uint8Array }): void {
    const monoMs = timeUs / 1000;
    this.#assembler.push({ id, timeUs: START_US + timeUs, monoMs, data, offset: 0, length: data.length });
  }

  /** Bytes of all full blocks for each message, packed, and the seconds that packing took. */
  pack(how: (block: Uint8Array<ArrayBuffer>) => Uint8Array): { bytesPerMessage: number; seconds: number } {
    const start = performance.now();
    const bytes = this.blocks.reduce((sum, block) => sum + how(block).length, 0);
    const seconds = (performance.now() - start) / 1000;
    return { bytesPerMessage: bytes / (this.messages - this.#builder.frames), seconds };
  }

  #end(): void {
    this.blocks.push(this.#builder.finish());
    this.#builder.begin({ devices: this.#devices() });
  }
}

/** When a bus delivers a frame that is due at a time: behind the one before, and a little late. */
function busTimes(): (dueUs: number, bytes: number) => number {
  const random = new Random(1);
  let freeUs = 0;
  return (dueUs, bytes) => {
    freeUs = Math.round(Math.max(freeUs, dueUs + random.next() * MAX_LATE_US) + (FRAME_BITS + 8 * bytes) * BIT_US);
    return freeUs;
  };
}

/**
 * What an hour of the simulated boat takes on disk. The bar speaks of 200 frames a second: read as CAN frames, which is
 * the boat's nominal load, and as messages, which are what is recorded (a fast packet is one).
 */
export function journalSizeBench(): void {
  const exact = new Recorded(() => twin.devices.map(blockDevice));
  const onBus = new Recorded(() => twin.devices.map(blockDevice));
  const timeOf = busTimes();
  let frames = 0;
  const twin: SimulatedBoat = new SimulatedBoat({
    clock: CLOCK,
    send: (id, data) => {
      frames++;
      const dueUs = twin.nowMs * 1000;
      exact.push(dueUs, { id, data });
      onBus.push(timeOf(dueUs, data.length), { id, data });
    },
  });
  twin.advance(HOURS * 3_600_000);

  const seconds = HOURS * 3600;
  report({ name: "simulated boat, load", value: frames / seconds, unit: "CAN frames/s" });
  report({ name: "simulated boat, messages", value: exact.messages / seconds, unit: "messages/s" });
  const tell = (recorded: Recorded, what: string, { bar, how = compressSmall }: {
    bar?: string;
    how?: (block: Uint8Array<ArrayBuffer>) => Uint8Array;
  } = {}) => {
    const { bytesPerMessage, seconds } = recorded.pack(how);
    const megabytes = bytesPerMessage * 200 * 3600 / 1e6;
    const value = megabytes * recorded.messages / frames;
    report({ name: `journal size at 200 CAN frames/s${what}`, value, unit: "MB/h", ...(bar && { bar }) });
    report({ name: `journal size at 200 messages/s${what}`, value: megabytes, unit: "MB/h" });
    report({ name: `journal packing of an hour${what}`, value: seconds / HOURS, unit: "CPU s" });
  };
  tell(exact, "", { bar: "<= 2.4" });
  tell(exact, ", packed at once", { how: (block) => compress(block, "zstd") });
  tell(onBus, ", times of a real bus");
}
