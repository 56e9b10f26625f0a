import { type Api, pathPart } from "./api.ts";
import { Client } from "./client.ts";
import type { StreamSettings } from "./live_stream.ts";
import type { CallOptions } from "./types.ts";
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

  /** The boats that the token may read, and the progress of their replication. */
  async instances({ signal }: CallOptions = {}): Promise<InstanceSummary[]> {
    const { instances } = await this.#api.json<{ instances: InstanceSummary[] | null }>("/instances", { signal });
    // Some servers send null for an empty list.
    return instances ?? [];
  }

  /** State of a boat's replication. @throws {ApiError} 404: unknown boat */
  async status(id: string, { signal }: CallOptions = {}): Promise<InstanceStatus> {
    return await this.#api.json<InstanceStatus>(`${pathOf(id)}/status`, { signal });
  }

  /**
   * Events of a boat's replication, newest first.
   *
   * @param options.limit maximum number of events, up to 1024; default 100
   * @throws {ApiError} 404: unknown boat
   */
  async replicationEvents(
    id: string,
    { limit, signal }: CallOptions & { limit?: number } = {},
  ): Promise<ReplicationEvent[]> {
    return await this.#api.json<ReplicationEvent[]>(`${pathOf(id)}/replication/events`, { query: { limit }, signal });
  }

  /** Health of the cloud server. */
  async health({ signal }: CallOptions = {}): Promise<CloudHealth> {
    return await this.#api.json<CloudHealth>("/healthz", { signal, acceptStatus: 503 });
  }

  /** A client of one boat; it cannot send. */
  boat(id: string): Client {
    return new Client({ api: this.#api.at(pathOf(id)), root: this.#api, streams: this.#streams });
  }
}

function pathOf(id: string): string {
  return `/instances/${pathPart(id)}`;
}
