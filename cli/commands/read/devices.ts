/**
 * `vbg devices`: lists the devices on the buses.
 *
 * @module
 */
import type { PastClient } from "@vessel/gateway/client";
import { labelsOptions, outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { deviceTable } from "../../client/devices_table.ts";
import { atChecks, atOptions, timeOf } from "../../client/time_option.ts";
import { runOnServer, type ServerContext, writeJson, writeJsonLine } from "../../client/server_command.ts";
import { watch } from "../../client/server_watch.ts";
import { EXIT, type Program, type ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";

const flags = flagGroup("Output");

/** A PGN that no frame has: a stream with this filter carries only device events. */
const NO_PGN = 0x3ffff;

const options = {
  ...serverOptions,
  ...outputOptions,
  watch: flags.boolean({
    name: "watch",
    help: "Continue until Ctrl-C. On a terminal: update the list each second. JSON: a line for each device, then one " +
      "for each change, {event, device}; event is present, added, updated or removed.",
  }),
  ...labelsOptions,
  ...atOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg devices`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg devices",
  summary: "lists the devices seen on the buses; times are UTC",
  options,
  checks: [...serverChecks, ...atChecks],
};

/** Runs `vbg devices`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    interrupted: ({ watch }) => watch ? EXIT.ok : EXIT.interrupted,
    run: async (settings, server) => {
      const { client, output, json, signal } = server;
      if (settings.watch) return json ? await printChanges(server) : await watch(server, () => table(client, server));
      const source = settings.at ? client.at(timeOf(settings.at, server.clock.wallUs() / 1000)) : client;
      if (!json) return await output.write(await table(source, server) + "\n");
      await writeJson(output, await source.devices({ signal, labels: settings.labels }));
    },
  });
}

async function table(source: Pick<PastClient, "devices">, { output, signal }: ServerContext): Promise<string> {
  return deviceTable(await source.devices({ signal }), { width: output.columns, color: output.hasColor });
}

/** Requests the list again after every new connection, since changes in between are not reported. */
async function printChanges({ client, output, status, signal }: ServerContext): Promise<void> {
  for await (const event of client.subscribe({ pgn: [NO_PGN] }, { devices: true, signal }).events()) {
    if (event.type === "connected") {
      for (const device of await client.devices({ signal })) await writeJsonLine(output, { event: "present", device });
    } else if (event.type === "device") {
      await writeJsonLine(output, { event: event.event, device: event.device });
    } else if (event.type === "disconnected") await status.write(`${event.error.message}\n`);
  }
}
