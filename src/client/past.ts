import type { Api, ApiRequest } from "./api.ts";
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
  #since: string | undefined;

  /** @ignore */
  constructor(api: Api, at: Date | string) {
    this.#api = api;
    this.#at = typeof at === "string" ? at : at.toISOString();
  }

  /**
   * Time of the first message that the last reply contains, RFC 3339: what devices last sent before it is not known. Undefined
   * before a reply.
   */
  get since(): string | undefined {
    return this.#since;
  }

  /** The devices on the buses. */
  async devices({ signal, labels }: LabelOptions = {}): Promise<PastDevice[]> {
    return (await this.#json<PastDevice[]>("/devices", { query: { labels }, signal })).map(deviceOf);
  }

  /** The newest frame of each device and PGN that matches the filter. */
  async values(filter: Filter = {}, { signal }: CallOptions = {}): Promise<LastValues[]> {
    return await this.#json<LastValues[]>("/values", { query: { ...filter }, signal });
  }

  /** The newest frame of each device and PGN that matches the filter, decoded. */
  async decodedValues(
    filter: Filter = {},
    { signal, labels }: LabelOptions = {},
  ): Promise<LastValues<DecodedLastValue>[]> {
    const query = { ...filter, labels };
    return decodedValuesOf(await this.#json<LastValues<DecodedLastValue>[]>("/values/decoded", { query, signal }));
  }

  async #json<T>(path: string, { query, signal }: Pick<ApiRequest, "query" | "signal">): Promise<T> {
    const onHeaders = (headers: Headers) => this.#since = headers.get("State-Since") ?? undefined;
    return await this.#api.json<T>(path, { query: { ...query, at: this.#at }, signal, onHeaders });
  }
}
