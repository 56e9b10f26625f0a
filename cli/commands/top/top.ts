/**
 * `vbg top`: a boat on one page, live.
 *
 * @module
 */
import { ApiError } from "@vessel/gateway/client";
import type { UnitSystem } from "@vessel/gateway/units";
import { VERSION } from "@vessel/gateway/version";
import { PANEL_PGNS } from "./boat_panel.ts";
import { BoatValues } from "./boat_values.ts";
import { type ClientSettings, outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { timeOfDay } from "../../client/frame_text.ts";
import { Interrupted } from "../../program/interrupt.ts";
import { EXIT, type Program, type ProgramContext, SettingsError } from "../../program/program.ts";
import { type Asking, runOnServer, writeJsonLine } from "../../client/server_command.ts";
import { pollServer } from "../../client/server_watch.ts";
import type { Picture, Sample } from "./picture.ts";
import { type UnitsChoice, unitsOf, unitsOptions } from "../../client/units_options.ts";
import { DeviceRates, sumOf } from "./rates.ts";
import { type Key, keysOf, rowsOf, Screen } from "../../program/live_screen.ts";
import { draw, pressed, within } from "./view.ts";

/** Settings of `vbg top`. */
export interface TopSettings extends ClientSettings, UnitsChoice {}

/** Name, operands and settings of `vbg top`. */
export const program: Program<TopSettings> = {
  name: "vbg top",
  version: VERSION,
  summary:
    "shows a boat live on a terminal: rates, devices, health, replication, newest values; times are UTC. Keys: tab, 1, 2, 3 " +
    "choose a page, j and k or arrows move, q ends. As JSON: a line each second",
  options: { ...serverOptions(), ...outputOptions(), ...unitsOptions(), ...programOptions() },
  checks: serverChecks,
};

/** Runs the command until q or Ctrl-C. Answers the exit code. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    around,
    interrupted: EXIT.ok,
    run: async (settings, asking) => {
      if (asking.json) return await tellLines(asking);
      if (!asking.output.isTerminal) throw new SettingsError("Cannot draw on what is no terminal: -json prints lines");
      await show(asking, { input: around.input, units: unitsOf(settings, asking.output) });
    },
  });
}

async function take({ client, signal }: Asking): Promise<Sample> {
  const [devices, values, health, replication] = await Promise.all([
    client.devices({ signal }),
    client.decodedValues({}, { signal }),
    whereKnown(client.health({ signal })),
    whereKnown(client.replicationStatus({ signal })),
  ]);
  return { devices, values, health, replication };
}

/** Undefined where the server does not tell such a thing. */
async function whereKnown<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

async function tellLines(asking: Asking): Promise<never> {
  const { output, status, signal, clock } = asking;
  const rates = new DeviceRates();
  return await pollServer({ signal }, {
    look: async () => {
      const { devices, health, replication } = await take(asking);
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
    lost: (error) => status.write(`${error.message}\n`),
  });
}

async function show(
  given: Asking,
  { input, units }: { input: ReadableStream<Uint8Array> | undefined; units: UnitSystem },
): Promise<void> {
  const quit = new AbortController();
  const asking = { ...given, signal: AbortSignal.any([given.signal, quit.signal]) };
  // Before the screen is taken: an address that is wrong is told as in all other commands.
  const dashboard = new Dashboard(asking, { sample: await take(asking), units });
  const isRaw = input === undefined && Deno.stdin.isTerminal();
  const keys = (input ?? (isRaw ? Deno.stdin.readable : undefined))?.getReader();
  const screen = Screen.open(asking.output, { isRaw });
  try {
    await Promise.race([
      dashboard.run(screen),
      dashboard.listen(),
      keys &&
      pressKeys(keys, (key) => key === "quit" ? quit.abort(new Interrupted("q")) : dashboard.press(key, screen)),
    ].filter((each) => each !== undefined));
  } finally {
    quit.abort(new Interrupted("The end"));
    await screen.close();
    await keys?.cancel().catch(() => {});
  }
}

/** Tells of keys. Without any more it waits for ever: the server is shown on. */
async function pressKeys(
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

/** What is shown, and how it changes. */
class Dashboard {
  readonly #asking: Asking;
  #picture: Picture;

  constructor(asking: Asking, { sample, units }: Pick<Picture, "sample" | "units">) {
    this.#asking = asking;
    const [rates, boat] = [new DeviceRates(), new BoatValues(PANEL_PGNS)];
    const view = { tab: 0, offset: 0 };
    const place = asking.place();
    this.#picture = { view, sample, rates, boat, units, place, time: this.#time(), problem: undefined };
    this.#learn(sample);
  }

  /**
   * Reads live what the overview shows, without an end: of a device with several engines or tanks the list of newest
   * messages has one alone.
   */
  async listen(): Promise<never> {
    const { client, signal } = this.#asking;
    try {
      for await (const frame of client.subscribe({ pgn: [...PANEL_PGNS] }, { signal })) this.#picture.boat.take(frame);
    } catch {
      // Without a place for a stream, what is asked for each second remains, and tells what is wrong.
    }
    return await new Promise<never>(() => {});
  }

  /** Draws once a second until the command is stopped. */
  async run(screen: Screen): Promise<never> {
    await this.#draw(screen);
    return await pollServer(this.#asking, {
      look: async () => {
        const sample = await take(this.#asking);
        this.#learn(sample);
        await this.#change({ sample, place: this.#asking.place(), problem: undefined }, screen);
      },
      lost: (error) => this.#change({ problem: error.message }, screen),
      hasLooked: true,
    });
  }

  async press(key: Exclude<Key, "quit">, screen: Screen): Promise<void> {
    const view = within(pressed(this.#picture.view, key), this.#picture, rowsOf(this.#asking.environment));
    await this.#change({ view }, screen);
  }

  async #change(changes: Partial<Picture>, screen: Screen): Promise<void> {
    this.#picture = { ...this.#picture, ...changes, time: this.#time() };
    await this.#draw(screen);
  }

  async #draw(screen: Screen): Promise<void> {
    const { output: { columns, hasColor }, environment } = this.#asking;
    await screen.draw(draw(this.#picture, { columns, hasColor, rows: rowsOf(environment) }));
  }

  #learn({ devices, values }: Sample): void {
    const { rates, boat } = this.#picture;
    rates.add(devices, this.#asking.clock.monoMs());
    for (const { bus, src, values: messages } of values) {
      for (const message of messages) boat.take({ ...message, bus, src });
    }
  }

  #time(): string {
    return timeOfDay(new Date(this.#asking.clock.wallUs() / 1000).toISOString());
  }
}
