/**
 * `vbg top`: a live page of a boat.
 *
 * @module
 */
import type { UnitSystem } from "@vessel/gateway/units";
import { outputOptions, serverChecks, serverOptions, unitsOf, unitsOptions } from "../../client/client_options.ts";
import { timeOfDay } from "../../client/frame_text.ts";
import { ifThere } from "../../client/if_there.ts";
import { runOnServer, type ServerContext, writeJsonLine } from "../../client/server_command.ts";
import { pollServer } from "../../client/server_watch.ts";
import { Interrupted } from "../../program/interrupt.ts";
import { type Key, keysOf, rowsOf, Screen } from "../../program/live_screen.ts";
import { EXIT, type Program, type ProgramContext, SettingsError } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { PANEL_PGNS } from "./boat_panel.ts";
import { BoatValues } from "./boat_values.ts";
import type { Picture, Sample } from "./picture.ts";
import { DeviceRates, sumOf } from "./rates.ts";
import { clampView, draw, viewAfter } from "./view.ts";

const options = { ...serverOptions, ...outputOptions, ...unitsOptions, ...programOptions };

/** Name, operands and settings of `vbg top`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg top",
  summary:
    "shows a boat live on a terminal: rates, devices, health, replication, newest values; times are UTC. Keys: tab, 1, " +
    "2, 3 select a page, j and k or arrows scroll, q ends. JSON: a line each second",
  options,
  checks: serverChecks,
};

/** Runs the command until q or Ctrl-C. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    interrupted: EXIT.ok,
    run: async (settings, server) => {
      if (server.json) return await printLines(server);
      if (!server.output.isTerminal) throw new SettingsError("Standard output is not a terminal: use -json");
      await show(server, { input: context.input, units: unitsOf(settings, server.output) });
    },
  });
}

async function sampleOf({ client, signal }: ServerContext): Promise<Sample> {
  const [devices, values, health, replication] = await Promise.all([
    client.devices({ signal }),
    client.decodedValues({}, { signal }),
    ifThere(client.health({ signal })),
    ifThere(client.replicationStatus({ signal })),
  ]);
  return { devices, values, health, replication };
}

async function printLines(server: ServerContext): Promise<never> {
  const { output, status, signal, clock } = server;
  const rates = new DeviceRates();
  return await pollServer({ signal }, {
    poll: async () => {
      const { devices, health, replication } = await sampleOf(server);
      rates.add(devices, clock.monoMs());
      const rate = sumOf(devices.map((device) => rates.of(device)));
      await writeJsonLine(output, {
        ts: new Date(clock.wallUs() / 1000).toISOString(),
        frames_per_second: rate?.frames ?? null,
        bytes_per_second: rate?.bytes ?? null,
        health: health ?? null,
        replication: replication ?? null,
        devices: devices.map((device) => ({ ...device, frames_per_second: rates.of(device)?.frames ?? null })),
      });
    },
    onFailure: (error) => status.write(`${error.message}\n`),
  });
}

async function show(
  given: ServerContext,
  { input, units }: { input: ReadableStream<Uint8Array> | undefined; units: UnitSystem },
): Promise<void> {
  const quit = new AbortController();
  const server = { ...given, signal: AbortSignal.any([given.signal, quit.signal]) };
  // Before the screen is opened: a wrong address is reported as in all other commands.
  const dashboard = new Dashboard(server, { sample: await sampleOf(server), units });
  const isRaw = input === undefined && Deno.stdin.isTerminal();
  const keys = (input ?? (isRaw ? Deno.stdin.readable : undefined))?.getReader();
  const screen = Screen.open(server.output, { isRaw });
  try {
    await Promise.race([
      dashboard.run(screen),
      dashboard.readFrames(),
      keys &&
      handleKeys(keys, (key) => key === "quit" ? quit.abort(new Interrupted("q")) : dashboard.press(key, screen)),
    ].filter((each) => each !== undefined));
  } finally {
    quit.abort(new Interrupted("Stopped"));
    await screen.close();
    await keys?.cancel().catch(() => {});
  }
}

/** Handles keys. Never resolves: at the end of the input the page stays open. */
async function handleKeys(
  keys: ReadableStreamDefaultReader<Uint8Array>,
  press: (key: Key) => Promise<void> | void,
): Promise<never> {
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await keys.read();
    if (done) return await new Promise<never>(() => {});
    for (const key of keysOf(decoder.decode(value, { stream: true }))) await press(key);
  }
}

/** State of the page. */
class Dashboard {
  readonly #server: ServerContext;
  #picture: Picture;

  constructor(server: ServerContext, { sample, units }: Pick<Picture, "sample" | "units">) {
    this.#server = server;
    const [rates, boat] = [new DeviceRates(), new BoatValues(PANEL_PGNS)];
    const view = { tab: 0, offset: 0 };
    const serverText = server.serverText();
    this.#picture = { view, sample, rates, boat, units, serverText, time: this.#time(), problem: undefined };
    this.#add(sample);
  }

  /**
   * Reads live frames for the overview, without an end: the last values have only one message per device and PGN, also
   * if a device reports several engines or tanks.
   */
  async readFrames(): Promise<never> {
    const { client, signal } = this.#server;
    try {
      for await (const frame of client.subscribe({ pgn: [...PANEL_PGNS] }, { signal })) this.#picture.boat.add(frame);
    } catch {
      // Polling continues, and reports errors.
    }
    return await new Promise<never>(() => {});
  }

  /** Draws once a second until the command is stopped. */
  async run(screen: Screen): Promise<never> {
    await this.#draw(screen);
    return await pollServer(this.#server, {
      poll: async () => {
        const sample = await sampleOf(this.#server);
        this.#add(sample);
        await this.#change({ sample, serverText: this.#server.serverText(), problem: undefined }, screen);
      },
      onFailure: (error) => this.#change({ problem: error.message }, screen),
      skipsFirst: true,
    });
  }

  async press(key: Exclude<Key, "quit">, screen: Screen): Promise<void> {
    const view = clampView(viewAfter(this.#picture.view, key), this.#picture, rowsOf(this.#server.environment));
    await this.#change({ view }, screen);
  }

  async #change(changes: Partial<Picture>, screen: Screen): Promise<void> {
    this.#picture = { ...this.#picture, ...changes, time: this.#time() };
    await this.#draw(screen);
  }

  async #draw(screen: Screen): Promise<void> {
    const { output: { columns, hasColor }, environment } = this.#server;
    await screen.draw(draw(this.#picture, { columns, hasColor, rows: rowsOf(environment) }));
  }

  #add({ devices, values }: Sample): void {
    const { rates, boat } = this.#picture;
    rates.add(devices, this.#server.clock.monoMs());
    for (const { bus, src, values: messages } of values) {
      for (const message of messages) boat.add({ ...message, bus, src });
    }
  }

  #time(): string {
    return timeOfDay(new Date(this.#server.clock.wallUs() / 1000).toISOString());
  }
}
