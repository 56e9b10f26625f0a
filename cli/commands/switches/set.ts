/**
 * `vbg switches set`: sets switches, and reads back their states.
 *
 * @module
 */
import type { Device, MessageToSend } from "@vessel/gateway/client";
import { formatHex } from "@vessel/gateway/frame";
import { outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { nameOf } from "../../client/frame_text.ts";
import { runOnServer, type ServerContext, writeJson } from "../../client/server_command.ts";
import { type Program, type ProgramContext, SettingsError } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import {
  BANK_CONTROL,
  BANK_SWITCHES,
  commandPayload,
  controlPayload,
  deviceLabel,
  GROUP_FUNCTION,
  MAX_BANK,
  type SwitchBank,
  SwitchBanks,
  type Switches,
  switchesText,
  type SwitchState,
} from "./banks.ts";
import { type ReadBack, sendAndReadBack } from "./read_back.ts";

const flags = flagGroup("Switches");
const MAX_ADDRESS = 253;
const NULL_ADDRESS = 254;
const BROADCAST = 255;
const MAX_TIMEOUT_MS = 600_000;

const options = {
  ...serverOptions,
  instance: optional(flags.integer({
    name: "instance",
    default: 0,
    max: MAX_BANK,
    help: "Instance of the bank. Not needed if there is only one.",
  })),
  dst: optional(flags.integer({
    name: "dst",
    default: NULL_ADDRESS,
    max: MAX_ADDRESS,
    help: "Command only this device (PGN 126208). Without it: every device that has the bank.",
  })),
  bus: optional(flags.text({
    name: "bus",
    help: "Bus of the bank. Without it: the one that the bank reports on, else the server's first.",
  })),
  src: optional(flags.integer({
    name: "src",
    default: NULL_ADDRESS,
    max: NULL_ADDRESS,
    help: "Source address, if the server has none of its own. Without it: 254.",
  })),
  prio: flags.integer({ name: "prio", default: 3, max: 7, help: "Priority; 0 is the highest." }),
  timeoutMs: flags.duration({
    name: "timeout",
    default: 5000,
    minMs: 1,
    maxMs: MAX_TIMEOUT_MS,
    help: "Longest wait for the report.",
  }),
  ...outputOptions,
  ...programOptions,
};

/** Settings of `vbg switches set`. */
export type SwitchesSetSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg switches set`. */
export const program: Program<SwitchesSetSettings> = {
  name: "vbg switches set",
  summary:
    "sets switches of a bank (PGN 127502), leaves all others unchanged, and waits until the bank reports the new " +
    "states (PGN 127501). Exit code 1: it did not",
  options,
  checks: serverChecks,
  positionals: "N=on|N=off ...",
};

/** Runs `vbg switches set`. Returns the exit code: 0 if every device has reported the states. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, { context, checkWords: readSwitches, run: setSwitches });
}

/** @throws {SettingsError} a word cannot be read */
function readSwitches(words: readonly string[]): Switches {
  if (words.length === 0) throw new SettingsError("Missing switches: expected N=on or N=off");
  const switches = new Map<number, SwitchState>();
  for (const word of words) {
    const [, digits = "", state] = /^(\d{1,2})=(on|off)$/.exec(word) ?? [];
    const number = Number(digits);
    if (!(number >= 1 && number <= BANK_SWITCHES)) {
      throw new SettingsError(`Cannot read "${word}": expected N=on or N=off, N from 1 to ${BANK_SWITCHES}`);
    }
    if (switches.has(number)) throw new SettingsError(`Switch ${number} is given twice`);
    switches.set(number, state === "on" ? "on" : "off");
  }
  return new Map([...switches].toSorted(([a], [b]) => a - b));
}

async function setSwitches(settings: SwitchesSetSettings, server: ServerContext): Promise<void> {
  const { client, signal, output, json, words, serverText } = server;
  const switches = readSwitches(words);
  const banks = new SwitchBanks(settings.instance);
  await banks.load(client, { signal, filter: settings.bus === undefined ? {} : { bus: [settings.bus] } });
  const devices = await client.devices({ signal });
  const devicesWithBank = banks.list().filter(({ src }) => settings.dst === undefined || src === settings.dst);
  const instance = settings.instance ?? onlyOne("bank", "instance", devicesWithBank.map((bank) => bank.instance));
  const bus = settings.bus ?? busOf(devicesWithBank);
  const message = messageOf(settings, { instance, switches, bus });
  const { dst = BROADCAST } = message;
  if (!json && devicesWithBank.length > 1) {
    await output.write(`${severalDevicesText(instance, { devicesWithBank, devices })}\n`);
  }
  const states = switchesText(switches);
  const onQueued = async () => {
    if (json) return;
    const to = dst === BROADCAST ? "all devices" : `address ${dst}`;
    const what = `PGN ${message.pgn} ${nameOf(message.pgn) ?? ""}`.trim();
    await output.write(`Queued at ${serverText()}: ${what} to ${to}, bank ${instance}: ${states}\n`);
  };
  const awaited = settings.dst === undefined ? devicesWithBank.map(({ src }) => src) : [settings.dst];
  const wanted = { message, instance, switches, awaited, timeoutMs: settings.timeoutMs };
  const result = await sendAndReadBack(wanted, { client, signal, onQueued });
  await report(result, { server, devices, bus, instance, switches, timeoutMs: settings.timeoutMs, message });
}

function messageOf(
  { dst, src, prio }: SwitchesSetSettings,
  { instance, switches, bus }: { instance: number; switches: Switches; bus: string | undefined },
): MessageToSend & { data: string } {
  const head = { prio, ...(src !== undefined && { src }), ...(bus !== undefined && { bus }) };
  if (dst === undefined) return { ...head, pgn: BANK_CONTROL, data: formatHex(controlPayload(instance, switches)) };
  return { ...head, pgn: GROUP_FUNCTION, dst, data: formatHex(commandPayload(instance, switches)) };
}

function busOf(devicesWithBank: readonly SwitchBank[]): string | undefined {
  const buses = new Set(devicesWithBank.flatMap(({ bus }) => bus === undefined ? [] : [bus]));
  return buses.size === 0 ? undefined : onlyOne("bus", "bus", [...buses]);
}

/** @throws {SettingsError} there is not exactly one */
function onlyOne<T extends string | number>(what: string, flag: string, found: readonly T[]): T {
  const [first, ...others] = [...new Set(found)].toSorted((a, b) => a < b ? -1 : 1);
  const plural = what === "bus" ? "buses with that bank" : `${what}s`;
  if (first === undefined) throw new SettingsError(`No ${what} has reported: -${flag} names one`);
  if (others.length > 0) {
    throw new SettingsError(`There are several ${plural}, ${[first, ...others].join(", ")}: -${flag} names one`);
  }
  return first;
}

function severalDevicesText(
  instance: number,
  { devicesWithBank, devices }: { devicesWithBank: readonly SwitchBank[]; devices: readonly Device[] },
): string {
  const labels = devicesWithBank.map((bank) => deviceLabel(bank, devices)).join(", ");
  return `${devicesWithBank.length} devices have bank ${instance}, ${labels}: all of them are switched; -dst names one`;
}

interface ReportParts {
  server: ServerContext;
  devices: readonly Device[];
  bus: string | undefined;
  instance: number;
  switches: Switches;
  timeoutMs: number;
  message: MessageToSend;
}

/** Shows the reports. @throws {Error} a device has not reported the wanted states */
async function report(result: ReadBack, parts: ReportParts): Promise<void> {
  const { server: { output, json }, devices, bus, instance, switches, message } = parts;
  const label = (src: number) => deviceLabel({ src, ...(bus !== undefined && { bus }) }, devices);
  const shown = result.devices.filter((device) => device.hasStates);
  if (json) {
    const rows = result.devices.map(({ src, hasStates, isRefused, reported }) => ({
      src,
      shown: hasStates,
      ...(isRefused && { refused: true }),
      ...(reported && { switches: Object.fromEntries(reported) }),
    }));
    await writeJson(output, { queued: message, devices: rows });
  } else {
    for (const { src } of shown) {
      await output.write(`${label(src)}: bank ${instance} reports ${switchesText(switches)}\n`);
    }
  }
  const failures = failuresOf(result, { ...parts, label });
  if (failures.length > 0) throw new Error(failures.join("; "));
}

function failuresOf(
  { wasOnBus, devices }: ReadBack,
  { instance, switches, timeoutMs, label }: ReportParts & { label: (src: number) => string },
): string[] {
  const within = `within ${timeoutMs / 1000} s`;
  if (!wasOnBus) return [`The message was queued, but did not appear on the bus ${within}`];
  if (devices.length === 0) return [`No device reported bank ${instance} ${within}`];
  return devices.filter(({ hasStates }) => !hasStates).map(({ src, isRefused, reported }) => {
    if (isRefused) return `${label(src)}: refused the command`;
    const own = new Map([...switches.keys()].flatMap((number) => {
      const state = reported?.get(number);
      return state === undefined ? [] : [[number, state] as const];
    }));
    const now = reported === undefined ? "no report" : `it reports ${switchesText(own) || "none of them"}`;
    return `${label(src)}: bank ${instance} did not report ${switchesText(switches)} ${within}: ${now}`;
  });
}
