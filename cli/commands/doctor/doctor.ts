/**
 * `vbg doctor`: checks a server and the machine that it runs on.
 *
 * @module
 */
import { CERTIFICATE_WARN_MS, systemClock } from "@vessel/gateway/base";
import type { ChosenServer } from "../../client/boat_choice.ts";
import { outputOptions, serverChecks, serverOptions, wantsJson } from "../../client/client_options.ts";
import { advised } from "../../client/server_advice.ts";
import { serverContextOf } from "../../client/server_command.ts";
import {
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import { paint, printable, type Style } from "../../program/terminal.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { checkInterfaces } from "./can.ts";
import { checkCertificate, checkClock, checkDirectory, checkServerCertificate, type Finding } from "./machine.ts";
import { checkServer } from "./server.ts";

const machine = flagGroup("Machine");
const limits = flagGroup("Limits");

const network = flagGroup("Network");

const options = {
  ...serverOptions,
  bus: network.boolean({
    name: "bus",
    help:
      "Check the buses instead: what the server has found on them, or what is found in recordings, journal files and " +
      "directories. Exit code 1: a finding is critical or a warning.",
  }),
  storeEndpoint: storeEndpointOption,
  journalDir: optional(machine.text({
    name: "journal-dir",
    placeholder: "DIR",
    help: "Journal directory of a server on this machine.",
  })),
  stateDir: optional(machine.text({
    name: "state-dir",
    placeholder: "DIR",
    help: "State directory of a server on this machine.",
  })),
  interfaces: machine.list({
    name: "interfaces",
    commas: true,
    help: "CAN interfaces that must exist. Without it: all that exist.",
  }),
  certificates: machine.list({
    name: "certificate",
    placeholder: "FILE",
    help: "Certificates (PEM) whose expiry is checked.",
  }),
  warnFreeBytes: limits.size({
    name: "warn-free",
    default: 2 * 1024 ** 3,
    help: "Free disk space below which a directory gets a warning.",
  }),
  failFreeBytes: limits.size({
    name: "fail-free",
    default: 512 * 1024 ** 2,
    help: "Free disk space below which a directory fails.",
  }),
  certificateMs: limits.duration({
    name: "warn-certificate",
    default: CERTIFICATE_WARN_MS,
    help: "Remaining validity below which a certificate gets a warning.",
  }),
  timeoutMs: limits.duration({
    name: "timeout",
    default: 5000,
    minMs: 1,
    help: "Longest wait for a reply of the server.",
  }),
  ...outputOptions,
  ...programOptions,
};

type DoctorSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg doctor`. */
export const program: Program<DoctorSettings> = {
  name: "vbg doctor",
  summary:
    "checks a server and its components, and this machine: disk space, CAN interfaces, clock, certificates; or " +
    "with -bus the buses. Exit code 1: a check has failed",
  options,
  checks: serverChecks,
  positionals: "[FILE|DIR|URL ...]",
};

const STYLES: Readonly<Record<Finding["state"], Style>> = { ok: "green", warn: "yellow", fail: "red", skip: "dim" };

/** Runs `vbg doctor`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    run: async (settings, paths) => {
      if (settings.bus) return await checkBuses(settings, { paths, context });
      if (paths.length > 0) throw new UsageError("Cannot check files without -bus");
      return await doctor(settings, context);
    },
  });
}

/** Prints what is wrong on the buses of a server, or in recordings. Returns the exit code. */
async function checkBuses(
  settings: DoctorSettings,
  { paths, context }: { paths: readonly string[]; context: ProgramContext },
): Promise<number> {
  const { checkRecordings, printReport } = await import("./bus.ts");
  const output = outputOf(context);
  const { boat, storeEndpoint: endpoint, timeoutMs } = settings;
  const signal = stopSignalOf(context);
  try {
    const report = paths.length > 0
      ? await checkRecordings({
        paths,
        store: { boat, endpoint },
        note: (text: string) => context.printError(`${program.name}: ${text}`),
        signal,
      })
      : await (await serverContextOf(settings, { context, name: program.name })).client.doctor({
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
    return await printReport(report, { output, isJson: wantsJson(settings, output) });
  } catch (error) {
    throw advised(error);
  }
}

async function doctor(settings: DoctorSettings, context: ProgramContext): Promise<number> {
  const output = outputOf(context);
  const isJson = wantsJson(settings, output);
  const found: Finding[] = [];
  for await (const findings of examinations(settings, context)) {
    found.push(...findings);
    if (isJson) continue;
    for (const { name, state, text } of findings) {
      await output.write(
        `${paint(output, STYLES[state], `[${state.toUpperCase()}]`)} ${printable(`${name}: ${text}`)}\n`,
      );
    }
  }
  const ok = !found.some(({ state }) => state === "fail");
  if (isJson) await output.write(`${JSON.stringify({ ok, checks: found })}\n`);
  return ok ? EXIT.ok : EXIT.failure;
}

/** Runs the checks one by one, so that users see which one is slow. */
async function* examinations(settings: DoctorSettings, context: ProgramContext): AsyncGenerator<Finding[]> {
  const { journalDir, stateDir, interfaces, certificates, timeoutMs } = settings;
  const [limits, nowMs] = [settings, systemClock.wallUs() / 1000];
  let server: ChosenServer | undefined;
  const choose = async () => server = await serverContextOf(settings, { context, name: program.name });
  yield await checkServer({ choose, timeoutMs });
  yield await checkServerCertificate(server?.address().url ?? "", { nowMs, limits, timeoutMs });
  for (const path of certificates) yield [await checkCertificate(path, { nowMs, limits })];
  yield [await checkDirectory(journalDir, { name: "journal directory", flag: "-journal-dir", limits })];
  yield [await checkDirectory(stateDir, { name: "state directory", flag: "-state-dir", limits })];
  yield await checkInterfaces(interfaces);
  yield [await checkClock(nowMs)];
}
