/**
 * `vbg switches`: banks of switches and their states.
 *
 * @module
 */
import { pause } from "@vessel/gateway/base";
import type { Device } from "@vessel/gateway/client";
import { outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { withBus } from "../../client/devices_table.ts";
import { timeOfDay } from "../../client/frame_text.ts";
import { runOnServer, type ServerContext, writeJson, writeJsonLine } from "../../client/server_command.ts";
import { watch } from "../../client/server_watch.ts";
import { EXIT, type Program, type ProgramContext } from "../../program/program.ts";
import { formatItems, type ItemColumn } from "../../program/table.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { BANK_STATUS, deviceText, MAX_BANK, type SwitchBank, SwitchBanks, switchesText } from "./banks.ts";

const bank = flagGroup("Switches");
const output = flagGroup("Output");

const MAX_WAIT_MS = 600_000;

const options = {
  ...serverOptions,
  instance: optional(bank.integer({
    name: "instance",
    default: 0,
    max: MAX_BANK,
    help: "Only banks with this instance.",
  })),
  waitMs: bank.duration({
    name: "wait",
    default: 2000,
    minMs: 1,
    maxMs: MAX_WAIT_MS,
    help: "Time to listen if the server has no journal: it keeps only one bank of each device. Banks report " +
      "every 15 s, or when a switch changes.",
  }),
  ...outputOptions,
  watch: output.boolean({
    name: "watch",
    help: "Continue until Ctrl-C. On a terminal: update the table each second. JSON: a line for each changed bank.",
  }),
  ...programOptions,
};

/** Name, operands and settings of `vbg switches`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg switches",
  summary: "shows the banks of switches (PGN 127501) and their states, without unavailable switches; times are UTC",
  options,
  checks: serverChecks,
};

/** Runs `vbg switches`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    interrupted: ({ watch }) => watch ? EXIT.ok : EXIT.interrupted,
    run: async (settings, server) => {
      const banks = new SwitchBanks(settings.instance);
      const { client, signal, output, json } = server;
      if (settings.watch) return await watchBanks(banks, server);
      const isRecorded = await banks.load(client, { signal });
      if (!isRecorded) await listen(banks, { server, waitMs: settings.waitMs });
      const devices = await client.devices({ signal });
      if (!json) return await output.write(bankTable(banks.list(), { devices, server }) + "\n");
      await writeJson(output, banks.list().map((bank) => bankJson(bank, devices)));
    },
  });
}

/** Adds the reports of the next `waitMs` milliseconds. */
async function listen(
  banks: SwitchBanks,
  { server, waitMs }: { server: ServerContext; waitMs: number },
): Promise<void> {
  const { client, signal } = server;
  const events = client.subscribe({ pgn: [BANK_STATUS] }).events();
  const read = async () => {
    for await (const event of events) if (event.type === "frame") banks.add(event.frame);
  };
  try {
    await Promise.race([read(), pause(waitMs, signal)]);
  } finally {
    await events.return();
  }
}

async function watchBanks(banks: SwitchBanks, server: ServerContext): Promise<void> {
  const { client, output, status, json, signal } = server;
  await banks.load(client, { signal });
  let devices = await client.devices({ signal });
  if (json) { for (const bank of banks.list()) await writeJsonLine(output, bankJson(bank, devices)); }
  const follow = async () => {
    for await (const event of client.subscribe({ pgn: [BANK_STATUS] }, { signal }).events()) {
      if (event.type === "disconnected") await status.write(`${event.error.message}\n`);
      if (event.type !== "frame") continue;
      const changed = banks.add(event.frame);
      if (changed && json) await writeJsonLine(output, bankJson(changed, devices));
    }
  };
  if (json) return await follow();
  const makeText = async () => {
    devices = await client.devices({ signal });
    return bankTable(banks.list(), { devices, server });
  };
  await Promise.race([follow(), watch(server, makeText)]);
}

function bankTable(
  banks: readonly SwitchBank[],
  { devices, server: { output } }: { devices: readonly Device[]; server: ServerContext },
): string {
  if (banks.length === 0) return "No switch bank has reported";
  const columns: ItemColumn<SwitchBank>[] = [
    { title: "BANK", align: "right", text: ({ instance }) => String(instance) },
    { title: "SRC", align: "right", text: ({ src }) => String(src) },
    { title: "DEVICE", max: 40, text: (bank) => deviceText(deviceOf(bank, devices)) },
    { title: "LAST", text: ({ ts }) => timeOfDay(ts) },
    { title: "SWITCHES", text: ({ switches }) => switchesText(switches) },
  ];
  return formatItems(banks, { columns: withBus(banks, columns), width: output.columns, color: output.hasColor });
}

function bankJson({ instance, src, bus, ts, switches }: SwitchBank, devices: readonly Device[]) {
  const where = { src, ...(bus !== undefined && { bus }) };
  const { name, manufacturer, model_id } = deviceOf(where, devices) ?? {};
  return {
    instance,
    ...where,
    ...(name !== undefined && { name }),
    ...(manufacturer !== undefined && { manufacturer }),
    ...(model_id !== undefined && { model_id }),
    ts,
    switches: Object.fromEntries(switches),
  };
}

function deviceOf({ src, bus }: Pick<SwitchBank, "src" | "bus">, devices: readonly Device[]): Device | undefined {
  return devices.find((each) => each.src === src && each.bus === bus);
}
