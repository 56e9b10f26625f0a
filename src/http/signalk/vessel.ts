import { createHash } from "node:crypto";
import type { Vessel } from "./feed.ts";

/** Clients of Signal K decide by the version of the server what they may ask it for: the one of signalk-server that we equal. */
export const SERVER_VERSION = "2.12.0";
/** Name of the server for them. */
export const SERVER_ID = "vessel-bus-gateway";

/** What the settings say of the own vessel. */
export interface VesselSettings {
  /** Name of the vessel; default none. */
  name?: string;
  /** Its MMSI, nine digits; default none. */
  mmsi?: string;
}

/** MMSI of a vessel: a country code first. */
const VESSEL_MMSI = /^[2-7]\d{8}$/;

/** Why a text is not the MMSI of a vessel; undefined: it is one. */
export function mmsiProblem(text: string): string | undefined {
  return VESSEL_MMSI.test(text) ? undefined : "expected nine digits, the first one 2 to 7";
}

/**
 * The own vessel in Signal K: by its MMSI, else by a UUID that depends on `server` only, so that it is the same after a
 * restart, and on boat and cloud.
 *
 * @param server id of the boat, or name of its server
 */
export function vesselOf({ name, mmsi }: VesselSettings, server: string): Vessel {
  const about = name === undefined ? {} : { name };
  if (mmsi !== undefined) return { id: `urn:mrn:imo:mmsi:${mmsi}`, about: { ...about, mmsi } };
  const id = `urn:mrn:signalk:uuid:${uuidOf(`vessel-bus-gateway:${server}`)}`;
  return { id, about: { ...about, uuid: id } };
}

/** A service that mDNS announces. */
export interface SignalKService {
  /** Type without `_` and `._tcp`. */
  type: string;
  txt: Record<string, string>;
}

/** The services that clients search for by mDNS: `_signalk-http._tcp` and `_signalk-ws._tcp`, with TLS their secure forms. */
export function signalkServices({ id, about: { name, mmsi } }: Vessel, { tls }: { tls: boolean }): SignalKService[] {
  const txt = {
    txtvers: "1",
    swname: SERVER_ID,
    swvers: SERVER_VERSION,
    roles: "master, main",
    self: id,
    ...(typeof name === "string" && { vname: name }),
    ...(typeof mmsi === "string" ? { vmmsi: mmsi } : { vuuid: id }),
  };
  return (tls ? ["signalk-https", "signalk-wss"] : ["signalk-http", "signalk-ws"]).map((type) => ({ type, txt }));
}

/** A UUID in the form of version 4, which Signal K asks for. */
function uuidOf(text: string): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6] ?? 0) & 0x0f | 0x40;
  bytes[8] = (bytes[8] ?? 0) & 0x3f | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
