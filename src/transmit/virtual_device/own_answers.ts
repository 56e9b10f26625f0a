import { fastPacketFrames } from "../../can/mod.ts";
import { BROADCAST_ADDRESS, NULL_ADDRESS } from "../../frame/mod.ts";
import { encode, isFastPacket, PGN } from "../../pgn/mod.ts";
import type { OutgoingMessage } from "../transmit.ts";

/** PGN of the lists of PGNs that a device sends and receives. */
const PGN_LISTS = 126464;
/** PGN of the configuration information. */
const CONFIGURATION = 126998;
/** PGN of the commanded address (ISO 11783-5 §4.4.4.5). */
export const COMMANDED_ADDRESS = 65240;
/** PGNs that the virtual device itself sends and receives, without those of clients. */
const TRANSMITS = [
  ...[PGN.isoAcknowledgement, PGN.isoRequest, PGN.transportData, PGN.transportControl, PGN.addressClaim],
  ...[PGN_LISTS, PGN.heartbeat, PGN.productInformation, CONFIGURATION],
];
const RECEIVES = [
  ...[PGN.isoAcknowledgement, PGN.isoRequest, PGN.transportData, PGN.transportControl, PGN.addressClaim],
  COMMANDED_ADDRESS,
];
/** Priority of network messages; the heartbeat has the lowest priority. */
const NETWORK_PRIO = 6;
const HEARTBEAT_PRIO = 7;
/** Interval of PGN 126993, as specified by NMEA 2000. */
export const HEARTBEAT_MS = 60_000;
/** The heartbeat counts from 0 to 252. */
const HEARTBEAT_COUNTS = 253;
/** NMEA 2000 version of the network messages: 2.100. */
const NMEA_2000_VERSION = 2100;

/** Identity of the virtual device. Product texts have up to 32 bytes, configuration texts up to 70. */
export interface OwnIdentity {
  /** Default 0. */
  productCode?: number;
  /** Default "Vessel Bus Gateway". */
  modelId?: string;
  /** Default empty. */
  softwareVersion?: string;
  /** Default empty. */
  modelVersion?: string;
  /** Serial number; default empty. */
  serial?: string;
  /** Two installation descriptions and the manufacturer information; default empty. */
  configuration?: readonly [string, string, string];
}

/** An answer without bus and source address. */
export type OwnAnswer = Omit<OutgoingMessage, "bus" | "src">;

/** Answers of the virtual device to requests other than address claims. */
export class OwnAnswers {
  readonly #product: Uint8Array;
  readonly #configuration: Uint8Array;
  readonly #lists: readonly Uint8Array[];
  #heartbeats = 0;

  /** @throws {EncodeError} a text or number does not fit */
  constructor(identity: OwnIdentity = {}) {
    const { productCode = 0, modelId = "Vessel Bus Gateway", softwareVersion = "", modelVersion = "" } = identity;
    const [first, second, maker] = identity.configuration ?? ["", "", ""];
    this.#product = encode(PGN.productInformation, {
      nmea_version: NMEA_2000_VERSION,
      product_code: productCode,
      model_id: modelId,
      software_version: softwareVersion,
      model_version: modelVersion,
      model_serial: identity.serial ?? "",
      // Not certified, and not powered by the bus.
      cert_level: null,
      load_equiv: 0,
    });
    this.#configuration = encode(CONFIGURATION, {
      installation_description1: first,
      installation_description2: second,
      manufacturer_information: maker,
    });
    this.#lists = [
      encode(PGN_LISTS, { function_code: "Transmit PGN list", list: TRANSMITS.map((pgn) => ({ pgn })) }),
      encode(PGN_LISTS, { function_code: "Receive PGN list", list: RECEIVES.map((pgn) => ({ pgn })) }),
    ];
  }

  /**
   * The answers to a request. An unknown PGN gets a NAK if the request was addressed, and no answer after a broadcast.
   *
   * @param request.from source of the request; the answer to the null address is a broadcast
   * @param request.to destination of the request; 255: broadcast
   */
  to({ pgn, from, to }: { pgn: number; from: number; to: number }): OwnAnswer[] {
    const dst = from === NULL_ADDRESS || to === BROADCAST_ADDRESS ? BROADCAST_ADDRESS : from;
    const answer = (data: Uint8Array) => ({ pgn, prio: NETWORK_PRIO, dst, data });
    switch (pgn) {
      case PGN.productInformation:
        return [answer(this.#product)];
      case CONFIGURATION:
        return [answer(this.#configuration)];
      case PGN_LISTS:
        return this.#lists.map(answer);
      case PGN.heartbeat:
        return [this.heartbeat()];
    }
    if (to === BROADCAST_ADDRESS) return [];
    return [{ pgn: PGN.isoAcknowledgement, prio: NETWORK_PRIO, dst, data: refusal(pgn) }];
  }

  /** Product information as a broadcast. */
  product(): OwnAnswer {
    return { pgn: PGN.productInformation, prio: NETWORK_PRIO, dst: BROADCAST_ADDRESS, data: this.#product };
  }

  /** The next heartbeat. */
  heartbeat(): OwnAnswer {
    const data = encode(PGN.heartbeat, {
      data_transmit_offset: HEARTBEAT_MS / 1000,
      sequence_counter: this.#heartbeats,
      controller_1_state: 0,
      equipment_status: 0,
    });
    this.#heartbeats = (this.#heartbeats + 1) % HEARTBEAT_COUNTS;
    return { pgn: PGN.heartbeat, prio: HEARTBEAT_PRIO, dst: BROADCAST_ADDRESS, data };
  }
}

/** Number of CAN frames of an answer. */
export function framesOf({ pgn, data }: OwnAnswer): number {
  return isFastPacket(pgn) ? fastPacketFrames(data.length) : 1;
}

/** Negative acknowledgement (ISO 11783-3 §5.4.4): control 1, no group function, three bytes reserved, the PGN. */
function refusal(pgn: number): Uint8Array {
  return encode(PGN.isoAcknowledgement, { control: "NAK", pgn });
}
