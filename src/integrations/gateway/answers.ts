import type { Broker, DeviceRecord } from "../../broker/mod.ts";
import { BROADCAST_ADDRESS, buildCanId, NAME_BYTES, NULL_ADDRESS, type StoredFrame } from "../../frame/mod.ts";
import { encode, PGN } from "../../pgn/mod.ts";
import type { OwnAddress } from "../../transmit/mod.ts";

const CONFIGURATION = 126998;
const PGN_LISTS = 126464;
const NETWORK_PRIO = 6;
/** NMEA 2000 version where only the texts of a device are known: 2.100. */
const NMEA_2000_VERSION = 2100;
/** Model of the gateway for clients that may not send. */
const MODEL = "Vessel Bus Gateway";
/** OpenCPN sends only if the model of a device contains YDEN and the line is marked as sent. */
const SENDING_MODEL = "Vessel Bus Gateway (YDEN RAW)";

/** An answer to a request of a client. */
export interface Answer extends Pick<StoredFrame, "bus" | "id" | "data" | "length"> {
  /** True if it comes from the gateway itself. */
  isOwn: boolean;
}

/** A request (PGN 59904) of a client. */
export interface IdentityRequest {
  pgn: number;
  dst: number;
  /** Buses of the client. */
  buses: readonly number[];
  /** Whether the client may send. */
  maySend: boolean;
}

/**
 * Answers requests for the identity of devices from what is known about them, so that programs that request it often
 * put nothing on the bus: address claim (60928), product information (126996), configuration information (126998), PGN
 * list (126464: the newest one of each device).
 */
export class IdentityAnswers {
  readonly #broker: Broker;
  readonly #ownAddress: (bus: number) => OwnAddress;
  readonly #version: string;

  constructor({ broker, ownAddress, version }: {
    broker: Broker;
    ownAddress: (bus: number) => OwnAddress;
    version: string;
  }) {
    this.#broker = broker;
    this.#ownAddress = ownAddress;
    this.#version = version;
  }

  /** The answers; empty if nothing is known. */
  to({ pgn, dst, buses, maySend }: IdentityRequest): Answer[] {
    const answers = buses.flatMap((bus) => {
      const own = this.#ownAddressOn(bus);
      const devices = [...this.#broker.registry].filter(({ bus: on, src }) =>
        on === bus && (dst === BROADCAST_ADDRESS || dst === src) && !(src === own && pgn === PGN.productInformation)
      );
      return devices.flatMap((device) => this.#answerOf(device, pgn) ?? []);
    });
    const [bus = 0] = buses;
    const src = this.#ownAddressOn(bus);
    if (pgn !== PGN.productInformation || (dst !== BROADCAST_ADDRESS && dst !== src)) return answers;
    return [...answers, this.#own({ bus, src, maySend })];
  }

  /** Source address of what the gateway sends: see `SendGate`. */
  #ownAddressOn(bus: number): number {
    const own = this.#ownAddress(bus);
    return own.kind === "claimed" ? own.src : NULL_ADDRESS;
  }

  #answerOf(device: DeviceRecord, pgn: number): Answer | undefined {
    const { bus, src, name, product } = device;
    if (pgn === PGN.addressClaim) {
      if (name === undefined) return undefined;
      const data = new Uint8Array(NAME_BYTES);
      new DataView(data.buffer).setBigUint64(0, name, true);
      return answer({ bus, src, pgn, data });
    }
    if (pgn !== PGN.productInformation && pgn !== CONFIGURATION && pgn !== PGN_LISTS) return undefined;
    const known = this.#broker.values.of(bus, src).find((value) => value.pgn === pgn);
    if (known) return { bus, id: known.id, data: known.data, length: known.length, isOwn: false };
    if (pgn !== PGN.productInformation || !product) return undefined;
    const data = encode(pgn, {
      nmea_version: NMEA_2000_VERSION,
      product_code: product.productCode,
      model_id: product.modelId,
      software_version: product.softwareVersion,
      model_version: product.modelVersion,
      model_serial: product.modelSerial,
      cert_level: null,
      load_equiv: 0,
    });
    return answer({ bus, src, pgn, data });
  }

  #own({ bus, src, maySend }: { bus: number; src: number; maySend: boolean }): Answer {
    const data = encode(PGN.productInformation, {
      nmea_version: NMEA_2000_VERSION,
      product_code: 0,
      model_id: maySend ? SENDING_MODEL : MODEL,
      software_version: this.#version,
      model_version: "",
      model_serial: "",
      cert_level: null,
      load_equiv: 0,
    });
    return { ...answer({ bus, src, pgn: PGN.productInformation, data }), isOwn: true };
  }
}

function answer({ bus, src, pgn, data }: { bus: number; src: number; pgn: number; data: Uint8Array }): Answer {
  const id = buildCanId({ prio: NETWORK_PRIO, pgn, src, dst: BROADCAST_ADDRESS });
  return { bus, id, data, length: data.length, isOwn: false };
}
