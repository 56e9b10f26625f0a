import { BROADCAST_ADDRESS, buildName, MAX_DEVICE_ADDRESS, NAME_BYTES, NULL_ADDRESS } from "../frame/mod.ts";
import {
  addressOf,
  type Claim,
  type Claimant,
  type ClaimEvent,
  type ClaimState,
  NEW_CLAIM,
  stepClaim,
} from "../transmit/mod.ts";
import { encode, type Fields, PGN } from "../pgn/mod.ts";
import type { Broadcast, DeviceSpec, Product, View } from "./devices/device.ts";
import { FrameSender, type SendFrame } from "./send.ts";

/** PGN lists of a device. */
const PGN_LISTS = 126464;
/** Configuration information. */
const CONFIGURATION = 126998;
/** Network messages that every device sends and hears. */
const NETWORK_TRANSMIT = [
  PGN.isoAcknowledgement,
  PGN.addressClaim,
  PGN_LISTS,
  PGN.heartbeat,
  PGN.productInformation,
  CONFIGURATION,
];
const NETWORK_RECEIVE = [PGN.isoAcknowledgement, PGN.isoRequest, PGN.addressClaim];
/** Priority of network messages; the heartbeat goes after everything else. */
const NETWORK_PRIO = 6;
const HEARTBEAT_PRIO = 7;
const HEARTBEAT_MS = 60_000;
/** The heartbeat counts from 0 to 252. */
const HEARTBEAT_COUNTS = 253;
/** Time that a device takes to answer a request. */
const ANSWER_MS = 3;
/** Devices answer a request to everybody one after the other, so that they do not flood the bus. */
const ANSWER_SPACING_MS = 120;
/** NMEA 2000 version of the network messages: 2.100. */
const NMEA_2000_VERSION = 2100;
/** Certification level B, as PGN 126996 has it. */
const CERTIFICATION_LEVEL = 1;

/** What a node needs from its surroundings. */
export interface NodePort {
  readonly send: SendFrame;
  /** Calls back at a time; a returned time means again. */
  at(dueMs: number, run: (nowMs: number) => number | void): void;
  view(): View;
}

/** One device on the bus: claims its address, answers requests, sends its messages. */
export class Node {
  readonly spec: DeviceSpec;
  /** 64-bit NAME. */
  readonly name: bigint;
  readonly #claimant: Claimant;
  readonly #port: NodePort;
  readonly #sender: FrameSender;
  /** Place in the order in which the devices answer. */
  readonly #turn: number;
  #claim: Claim = NEW_CLAIM;
  #heartbeats = 0;

  /** @param options.turn place in the order in which the devices answer requests to everybody, from 0 */
  constructor(spec: DeviceSpec, { port, turn }: { port: NodePort; turn: number }) {
    this.spec = spec;
    this.name = buildName(spec.name);
    this.#claimant = { name: this.name, candidates: candidatesOf(spec) };
    this.#port = port;
    this.#sender = new FrameSender(port.send);
    this.#turn = turn;
  }

  /** How far it is on its way to an address. */
  get claim(): ClaimState {
    return this.#claim.state;
  }

  /** Address that it holds or claims. */
  get address(): number | undefined {
    return addressOf(this.#claim.state);
  }

  /** Enters switching on and all messages into the agenda; `phaseOf` says where in its interval a message falls. */
  schedule(phaseOf: (intervalMs: number) => number): void {
    this.#port.at(this.spec.powerOnMs, (nowMs) => this.#happen({ type: "power-on", nowMs }));
    for (const broadcast of this.spec.broadcasts) {
      this.#repeat(broadcast.intervalMs, { phaseMs: phaseOf(broadcast.intervalMs), run: () => this.#say(broadcast) });
    }
    this.#repeat(HEARTBEAT_MS, { phaseMs: phaseOf(HEARTBEAT_MS), run: () => this.#beat() });
  }

  /** Hears an address claim of another node. */
  hearClaim(claim: { nowMs: number; address: number; name: bigint }): void {
    this.#happen({ type: "heard", ...claim });
  }

  /** Hears a request for a PGN, which is for it or for everybody. */
  hearRequest({ nowMs, pgn, from, to }: { nowMs: number; pgn: number; from: number; to: number }): void {
    if (to !== BROADCAST_ADDRESS && to !== this.address) return;
    if (pgn === PGN.addressClaim) {
      this.#happen({ type: "asked" });
      return;
    }
    const waitMs = to === BROADCAST_ADDRESS ? ANSWER_MS + this.#turn * ANSWER_SPACING_MS : ANSWER_MS;
    this.#port.at(nowMs + waitMs, () => this.#answer(pgn, { from, to }));
  }

  #repeat(intervalMs: number, { phaseMs, run }: { phaseMs: number; run: () => void }): void {
    this.#port.at(phaseMs, (nowMs) => {
      run();
      return nowMs + intervalMs;
    });
  }

  #happen(event: ClaimEvent): void {
    const { claim, announce } = stepClaim(this.#claimant, { claim: this.#claim, event });
    const { state } = claim;
    if (state.type === "claiming" && state !== this.#claim.state) {
      this.#port.at(state.untilMs, (nowMs) => this.#happen({ type: "time", nowMs }));
    }
    this.#claim = claim;
    if (announce !== undefined) {
      this.#sender.send({ pgn: PGN.addressClaim, prio: NETWORK_PRIO, src: announce, payload: nameBytes(this.name) });
    }
  }

  /** Sends a message, if it has an address to send from. */
  #transmit({ fields, ...message }: { pgn: number; prio: number; fields: Fields; dst?: number }): void {
    const { state } = this.#claim;
    if (state.type !== "claimed") return;
    this.#sender.send({ ...message, src: state.address, payload: encode(message.pgn, fields) });
  }

  #say({ pgn, prio, fields: look }: Broadcast): void {
    if (this.#claim.state.type !== "claimed") return;
    const fields = look(this.#port.view());
    if (fields !== undefined) this.#transmit({ pgn, prio, fields });
  }

  #beat(): void {
    if (this.#claim.state.type !== "claimed") return;
    const fields = {
      data_transmit_offset: HEARTBEAT_MS / 1000,
      sequence_counter: this.#heartbeats,
      controller_1_state: 0,
      equipment_status: 0,
    };
    this.#heartbeats = (this.#heartbeats + 1) % HEARTBEAT_COUNTS;
    this.#transmit({ pgn: PGN.heartbeat, prio: HEARTBEAT_PRIO, fields });
  }

  #answer(pgn: number, { from, to }: { from: number; to: number }): void {
    const { spec } = this;
    // A node without an address cannot be spoken to: all hear the answer.
    const dst = from === NULL_ADDRESS || to === BROADCAST_ADDRESS ? BROADCAST_ADDRESS : from;
    const reply = (fields: Fields) => this.#transmit({ pgn, prio: NETWORK_PRIO, fields, dst });
    switch (pgn) {
      case PGN.productInformation:
        return reply(productFields(spec.product));
      case CONFIGURATION:
        return reply(configurationFields(spec.configuration));
      case PGN_LISTS:
        reply({ function_code: "Transmit PGN list", list: this.#transmits().map((pgn) => ({ pgn })) });
        return reply({
          function_code: "Receive PGN list",
          list: [...NETWORK_RECEIVE, ...spec.receives].map((pgn) => ({ pgn })),
        });
      case PGN.heartbeat:
        return this.#beat();
    }
    const wanted = spec.broadcasts.filter((broadcast) => broadcast.pgn === pgn);
    for (const broadcast of wanted) this.#say(broadcast);
    if (wanted.length === 0 && to !== BROADCAST_ADDRESS) {
      this.#transmit({ pgn: PGN.isoAcknowledgement, prio: NETWORK_PRIO, fields: { control: "NAK", pgn }, dst });
    }
  }

  #transmits(): number[] {
    return [...new Set([...NETWORK_TRANSMIT, ...this.spec.broadcasts.map(({ pgn }) => pgn)])];
  }
}

/** The address that it prefers and, if it may take any, all others from there upwards. */
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

function productFields({ code, model, softwareVersion, modelVersion, serial, loadEquivalency }: Product): Fields {
  return {
    nmea_version: NMEA_2000_VERSION,
    product_code: code,
    model_id: model,
    software_version: softwareVersion,
    model_version: modelVersion,
    model_serial: serial,
    cert_level: CERTIFICATION_LEVEL,
    load_equiv: loadEquivalency,
  };
}

function configurationFields([first, second, maker]: DeviceSpec["configuration"]): Fields {
  return { installation_description1: first, installation_description2: second, manufacturer_information: maker };
}
