import type { Api } from "./api.ts";
import { decodedValuesOf, deviceOf } from "./other_forms.ts";
import type { Filter } from "../filter/mod.ts";
import type { CallOptions, DecodedLastValue, LabelledDevice, LabelOptions, LastValues } from "./types.ts";

/** A device as it was known at a time. Its counters are null if frames before that are missing. */
export interface PastDevice extends Omit<LabelledDevice, "packet_count" | "byte_count"> {
  /** Frames since the start of the server. */
  packet_count: number | null;
  /** Bytes of their payloads. */
  byte_count: number | null;
}

/** What a server showed at a time. Calls throw an ApiError with status 404 if nothing was recorded before it. */
export class PastClient {
  readonly #api: Api;
  readonly #at: string;

  /** @ignore */
  constructor(api: Api, at: Date | string) {
    this.#api = api;
    this.#at = typeof at === "string" ? at : at.toISOString();
  }

  /** The devices on the buses. */
  async devices({ signal, labels }: LabelOptions = {}): Promise<PastDevice[]> {
    const query = { at: this.#at, ...(labels && { labels }) };
    return (await this.#api.json<PastDevice[]>("/devices", { query, signal })).map(deviceOf);
  }

  /** The newest frame of each device and PGN that matches the filter. */
  async values(filter: Filter = {}, { signal }: CallOptions = {}): Promise<LastValues[]> {
    return await this.#api.json<LastValues[]>("/values", { query: { ...filter, at: this.#at }, signal });
  }

  /** The newest frame of each device and PGN that matches the filter, decoded. */
  async decodedValues(
    filter: Filter = {},
    { signal, labels }: LabelOptions = {},
  ): Promise<LastValues<DecodedLastValue>[]> {
    const query = { ...filter, at: this.#at, ...(labels && { labels }) };
    return decodedValuesOf(await this.#api.json<LastValues<DecodedLastValue>[]>("/values/decoded", { query, signal }));
  }
}
