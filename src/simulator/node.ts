import { splitFastPacket } from "../can/mod.ts";
import {
  BROADCAST_ADDRESS,
  buildCanId,
  buildName,
  MAX_DEVICE_ADDRESS,
  NAME_BYTES,
  NULL_ADDRESS,
} from "../frame/mod.ts";
import {
  addressOf,
  type Claim,
  type Claimant,
  type ClaimEvent,
  type ClaimState,
  NEW_CLAIM,
  stepClaim,
} from "../transmit/mod.ts";
import { encode, type Fields, isFastPacket, PGN } from "../pgn/mod.ts";
import type { Broadcast, DeviceSpec, View } from "./devices/device.ts";

/** Receives one CAN frame: 29-bit identifier and 0 to 8 bytes, which are not changed afterwards. */
export type SendFrame = (id: number, data: Uint8Array) => void;

/** PGN lists of a device. */
const PGN_LISTS = 126464;
/** Configuration information. */
const CONFIGURATION = 126998;
/** Network messages that every device sends and receives. */
const NETWORK_TRANSMIT = [
  PGN.isoAcknowledgement,
  PGN.addressClaim,
  PGN_LISTS,
  PGN.heartbeat,
  PGN.productInformation,
  CONFIGURATION,
];
const NETWORK_RECEIVE = [PGN.isoAcknowledgement, PGN.isoRequest, PGN.addressClaim];
const NETWORK_PRIO = 6;
const HEARTBEAT_PRIO = 7;
const HEARTBEAT_MS = 60_000;
/** The sequence counter of the heartbeat goes from 0 to 252. */
const HEARTBEAT_COUNTS = 253;
/** Time until a device answers a request. */
const ANSWER_MS = 3;
/** Delay between the devices' answers to a broadcast request, so that they do not flood the bus. */
const ANSWER_SPACING_MS = 120;
/** NMEA 2000 version of the network messages: 2.100. */
const NMEA_2000_VERSION = 2100;
/** Certification level B in PGN 126996. */
const CERTIFICATION_LEVEL = 1;

/** Dependencies of a node. */
export interface NodePort {
  readonly send: SendFrame;
  /** Calls `run` at a time, and again at the time that it returns. */
  at(dueMs: number, run: (nowMs: number) => number | void): void;
  view(): View;
}

interface Message {
  readonly pgn: number;
  readonly prio: number;
  /** Default: all devices. */
  readonly dst?: number;
}

/** One device on the bus: claims an address, answers requests, sends its messages. */
export class Node {
  readonly spec: DeviceSpec;
  /** 64-bit NAME. */
  readonly name: bigint;
  readonly #claimant: Claimant;
  readonly #port: NodePort;
  /** Position in the order in which devices answer broadcast requests, from 0. */
  readonly #order: number;
  /** Fast packet sequence counters by PGN. */
  readonly #sequences = new Map<number, number>();
  #claim: Claim = NEW_CLAIM;
  #heartbeats = 0;

  /** @param options.order position in the order in which devices answer broadcast requests, from 0 */
  constructor(spec: DeviceSpec, { port, order }: { port: NodePort; order: number }) {
    this.spec = spec;
    this.name = buildName(spec.name);
    this.#claimant = { name: this.name, candidates: candidatesOf(spec) };
    this.#port = port;
    this.#order = order;
  }

  /** State of the address claim. */
  get claim(): ClaimState {
    return this.#claim.state;
  }

  /** The claimed address, or the one being claimed. */
  get address(): number | undefined {
    return addressOf(this.#claim.state);
  }

  /** Schedules switching on and all messages; `phaseOf` returns the first time of a periodic message. */
  schedule(phaseOf: (intervalMs: number) => number): void {
    this.#port.at(this.spec.powerOnMs, (nowMs) => this.#stepClaim({ type: "power-on", nowMs }));
    for (const broadcast of this.spec.broadcasts) {
      const { intervalMs } = broadcast;
      this.#repeat(intervalMs, { phaseMs: phaseOf(intervalMs), run: () => this.#broadcast(broadcast) });
    }
    this.#repeat(HEARTBEAT_MS, { phaseMs: phaseOf(HEARTBEAT_MS), run: () => this.#sendHeartbeat() });
  }

  /** Processes an address claim of another node. */
  receiveClaim(claim: { nowMs: number; address: number; name: bigint }): void {
    this.#stepClaim({ type: "heard", ...claim });
  }

  /** Processes a request for a PGN. */
  receiveRequest({ nowMs, pgn, from, to }: { nowMs: number; pgn: number; from: number; to: number }): void {
    if (to !== BROADCAST_ADDRESS && to !== this.address) return;
    if (pgn === PGN.addressClaim) {
      this.#stepClaim({ type: "asked" });
      return;
    }
    const waitMs = to === BROADCAST_ADDRESS ? ANSWER_MS + this.#order * ANSWER_SPACING_MS : ANSWER_MS;
    this.#port.at(nowMs + waitMs, () => this.#answer(pgn, { from, to }));
  }

  #repeat(intervalMs: number, { phaseMs, run }: { phaseMs: number; run: () => void }): void {
    this.#port.at(phaseMs, (nowMs) => {
      run();
      return nowMs + intervalMs;
    });
  }

  #stepClaim(event: ClaimEvent): void {
    const { claim, announce } = stepClaim(this.#claimant, { claim: this.#claim, event });
    const { state } = claim;
    if (state.type === "claiming" && state !== this.#claim.state) {
      this.#port.at(state.untilMs, (nowMs) => this.#stepClaim({ type: "time", nowMs }));
    }
    this.#claim = claim;
    if (announce !== undefined) {
      this.#send({ pgn: PGN.addressClaim, prio: NETWORK_PRIO }, { src: announce, payload: nameBytes(this.name) });
    }
  }

  /** Sends a message as one frame or as a fast packet, according to its PGN. */
  #send({ pgn, prio, dst = BROADCAST_ADDRESS }: Message, { src, payload }: { src: number; payload: Uint8Array }): void {
    const id = buildCanId({ pgn, prio, src, dst });
    if (!isFastPacket(pgn)) {
      this.#port.send(id, payload);
      return;
    }
    const sequence = this.#sequences.get(pgn) ?? 0;
    this.#sequences.set(pgn, (sequence + 1) & 7);
    for (const frame of splitFastPacket(payload, sequence)) this.#port.send(id, frame);
  }

  /** Encodes and sends a message, if the node has an address. */
  #transmit(message: Message, fields: Fields): void {
    const { state } = this.#claim;
    if (state.type === "claimed") this.#send(message, { src: state.address, payload: encode(message.pgn, fields) });
  }

  #broadcast({ pgn, prio, fields }: Broadcast): void {
    if (this.#claim.state.type !== "claimed") return;
    const current = fields(this.#port.view());
    if (current !== undefined) this.#transmit({ pgn, prio }, current);
  }

  #sendHeartbeat(): void {
    if (this.#claim.state.type !== "claimed") return;
    const fields = {
      data_transmit_offset: HEARTBEAT_MS / 1000,
      sequence_counter: this.#heartbeats,
      controller_1_state: 0,
      equipment_status: 0,
    };
    this.#heartbeats = (this.#heartbeats + 1) % HEARTBEAT_COUNTS;
    this.#transmit({ pgn: PGN.heartbeat, prio: HEARTBEAT_PRIO }, fields);
  }

  #answer(pgn: number, { from, to }: { from: number; to: number }): void {
    const { spec } = this;
    // A node without an address can only receive broadcasts.
    const dst = from === NULL_ADDRESS || to === BROADCAST_ADDRESS ? BROADCAST_ADDRESS : from;
    const reply = (fields: Fields) => this.#transmit({ pgn, prio: NETWORK_PRIO, dst }, fields);
    switch (pgn) {
      case PGN.productInformation:
        return reply({ nmea_version: NMEA_2000_VERSION, ...spec.product, cert_level: CERTIFICATION_LEVEL });
      case CONFIGURATION:
        return reply(spec.configuration);
      case PGN_LISTS:
        reply({ function_code: "Transmit PGN list", list: this.#transmits().map((pgn) => ({ pgn })) });
        return reply({
          function_code: "Receive PGN list",
          list: [...NETWORK_RECEIVE, ...spec.receives].map((pgn) => ({ pgn })),
        });
      case PGN.heartbeat:
        return this.#sendHeartbeat();
    }
    const requested = spec.broadcasts.filter((broadcast) => broadcast.pgn === pgn);
    for (const broadcast of requested) this.#broadcast(broadcast);
    if (requested.length === 0 && to !== BROADCAST_ADDRESS) {
      this.#transmit({ pgn: PGN.isoAcknowledgement, prio: NETWORK_PRIO, dst }, { control: "NAK", pgn });
    }
  }

  #transmits(): number[] {
    return [...new Set([...NETWORK_TRANSMIT, ...this.spec.broadcasts.map(({ pgn }) => pgn)])];
  }
}

/** The preferred address and, if the device can claim any, all others from there upwards. */
function candidatesOf({ name, preferredAddress }: DeviceSpec): number[] {
  const addresses = MAX_DEVICE_ADDRESS + 1;
  const length = name.arbitraryAddressCapable ? addresses : 1;
  return Array.from({ length }, (_, i) => (preferredAddress + i) % addresses);
}

/** Payload of an address claim. */
function nameBytes(name: bigint): Uint8Array {
  const payload = new Uint8Array(NAME_BYTES);
  new DataView(payload.buffer).setBigUint64(0, name, true);
  return payload;
}
