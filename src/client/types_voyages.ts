/** Query for voyages. */
export interface VoyagesQuery {
  /** Earliest time: RFC 3339 text or a date. */
  from: string | Date;
  /** Latest time; default now. */
  to?: string | Date;
}

/** Reply to a query for voyages. */
export interface VoyagesReply {
  /** RFC 3339. */
  from: string;
  /** RFC 3339. */
  to: string;
  /** Voyages that touch the range, whole, in the order of time. */
  voyages: BoatVoyage[];
  /** What the boat did between them, within the range. */
  stays: BoatStay[];
}

/** A geographic position, degrees. */
export interface GeoPosition {
  /** Positive to the north. */
  latitude: number;
  /** Positive to the east. */
  longitude: number;
}

/** A voyage. */
export interface BoatVoyage {
  /** RFC 3339. */
  start: string;
  /** RFC 3339. */
  end: string;
  /** False: it has not ended, or its start, its end or a part of it is not known because frames are missing. */
  is_complete: boolean;
  /** Seconds. */
  duration_s: number;
  /** Where it began. */
  start_position: GeoPosition;
  /** Where it ended. */
  end_position: GeoPosition;
  /** Over ground, metres. */
  distance_m: number;
  /** Over ground, m/s. */
  avg_speed: number;
  /** Over ground, m/s; null if it is not known. */
  max_speed: number | null;
  /** Engines that sent values. */
  engines: EngineUse[];
  /** Litres of all engines; null if it is not known. */
  fuel_l: number | null;
  /** Wind; null if it is not known. */
  wind: VoyageWind | null;
}

/** Use of an engine during a voyage. */
export interface EngineUse {
  /** As in PGN 127488. */
  instance: number;
  /** Seconds for which it ran. */
  running_s: number;
  /** Litres, from the fuel rate, else from the trip fuel; null if neither is known. */
  fuel_l: number | null;
}

/** Wind during a voyage. */
export interface VoyageWind {
  /** `apparent`: the true wind is not known for most of the voyage. */
  reference: "true" | "apparent";
  /** Average, m/s. */
  avg: number;
  /** Maximum, m/s. */
  max: number;
}

/** A time between voyages. */
export interface BoatStay {
  /** `unknown`: too few positions, or none, and the boat was elsewhere after it. */
  state: "at_anchor" | "in_port" | "unknown";
  /** RFC 3339. */
  start: string;
  /** RFC 3339. */
  end: string;
  /** Average; null if it is not known. */
  position: GeoPosition | null;
}
