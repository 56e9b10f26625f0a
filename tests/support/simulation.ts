import { type Simulation, type SimulationOptions, startSimulation } from "../../src/simulation/simulate.ts";
import { SessionClient } from "./session.ts";
import type { SseClient, SseClientOptions } from "./sse_client.ts";

/** A simulation on any free port, ended with the test. */
export class TestSimulation implements AsyncDisposable {
  readonly simulation: Simulation;
  /** `http://127.0.0.1:port` */
  readonly url: string;

  private constructor(simulation: Simulation) {
    this.simulation = simulation;
    this.url = `http://127.0.0.1:${simulation.address.port}`;
  }

  /** Starts it, at full speed unless told otherwise. */
  static async start(options: SimulationOptions): Promise<TestSimulation> {
    return new TestSimulation(
      await startSimulation({ speed: 0, listen: { hostname: "127.0.0.1", port: 0 }, ...options }),
    );
  }

  /** The JSON of a path. */
  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }

  /** Opens the stream of a slot or session. */
  slot(id: string, options?: SseClientOptions): Promise<SseClient> {
    return new SessionClient(this.url, { id }).events("", options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.simulation.stop();
  }
}
