import { type Api, pathPart } from "./api.ts";
import { type CallOptions, Client } from "./client.ts";
import type { StreamSettings } from "./live_stream.ts";
import type { CloudHealth, InstanceStatus, InstanceSummary, ReplicationEvent } from "./types_cloud.ts";

/** A cloud server with its boats. Errors are those of {@linkcode Client}. */
export class CloudClient {
  readonly #api: Api;
  readonly #streams: StreamSettings;

  /** @ignore */
  constructor({ api, streams }: { api: Api; streams: StreamSettings }) {
    this.#api = api;
    this.#streams = streams;
  }

  /** Every boat that the token may know of, and how far its frames are here. */
  async instances({ signal }: CallOptions = {}): Promise<InstanceSummary[]> {
    const { instances } = await this.#api.json<{ instances: InstanceSummary[] | null }>("/instances", { signal });
    // Some servers say null where there are none.
    return instances ?? [];
  }

  /** All that is known of a boat's replication. @throws {ApiError} 404: there is no such boat */
  async status(id: string, { signal }: CallOptions = {}): Promise<InstanceStatus> {
    return await this.#api.json<InstanceStatus>(`${pathOf(id)}/status`, { signal });
  }

  /**
   * What happened to a boat's replication, newest first.
   *
   * @param options.limit most events, at most 1024; default 100
   * @throws {ApiError} 404: there is no such boat
   */
  async replicationEvents(
    id: string,
    { limit, signal }: CallOptions & { limit?: number } = {},
  ): Promise<ReplicationEvent[]> {
    return await this.#api.json<ReplicationEvent[]>(`${pathOf(id)}/replication/events`, { query: { limit }, signal });
  }

  /** How the cloud server does. */
  async health({ signal }: CallOptions = {}): Promise<CloudHealth> {
    return await this.#api.json<CloudHealth>("/healthz", { signal, alsoGood: 503 });
  }

  /** A boat, read as on its own server; nothing can be sent. */
  boat(id: string): Client {
    return new Client({ api: this.#api.at(pathOf(id)), root: this.#api, streams: this.#streams });
  }
}

function pathOf(id: string): string {
  return `/instances/${pathPart(id)}`;
}
