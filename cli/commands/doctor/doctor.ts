/**
 * `vbg doctor`: checks a server and the machine that it runs on.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { CERTIFICATE_WARN_MS, systemClock } from "@vessel/gateway/base";
import { chooseServer, type ChosenServer } from "../../client/boat_choice.ts";
import { loadClientConfig } from "../../client/client_config.ts";
import {
  type ClientSettings,
  outputOptions,
  serverChecks,
  serverOptions,
  wantsJson,
} from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { checkInterfaces } from "./can.ts";
import type { Finding } from "./finding.ts";
import { checkCertificate, checkClock, checkDirectory, checkServerCertificate, type MachineLimits } from "./machine.ts";
import { checkServer } from "./server.ts";
import { duration, list, optional, size, text } from "../../settings/option_types.ts";
import { EXIT, outputOf, type Program, type ProgramContext, runOnce, stoppedBy } from "../../program/program.ts";
import { paint, printable, type Style } from "../../program/terminal.ts";

interface DoctorSettings extends ClientSettings, MachineLimits {
  journalDir: string | undefined;
  stateDir: string | undefined;
  interfaces: readonly string[];
  certificates: readonly string[];
  timeoutMs: number;
}

const MACHINE = "Machine";
const LIMITS = "Limits";
const here = { key: [], environment: false } as const;

/** Name, operands and settings of `vbg doctor`. */
export const program: Program<DoctorSettings> = {
  name: "vbg doctor",
  version: VERSION,
  summary: "looks at a server and its parts, and at this machine: directories and their room, CAN interfaces, clock, " +
    "certificates. Exit code 1: something has failed",
  options: {
    ...serverOptions(),
    journalDir: optional(text({
      name: "journal-dir",
      ...here,
      placeholder: "DIR",
      default: "",
      help: "Journal directory of a server on this machine.",
      group: MACHINE,
    })),
    stateDir: optional(text({
      name: "state-dir",
      ...here,
      placeholder: "DIR",
      default: "",
      help: "State directory of a server on this machine.",
      group: MACHINE,
    })),
    interfaces: list({
      name: "interfaces",
      ...here,
      default: [],
      commas: true,
      help: "CAN interfaces that have to be there. Without it: all that are there.",
      group: MACHINE,
    }),
    certificates: list({
      name: "certificate",
      ...here,
      placeholder: "FILE",
      default: [],
      help: "Certificates whose end is looked at (PEM).",
      group: MACHINE,
    }),
    warnFreeBytes: size({
      name: "warn-free",
      ...here,
      default: 2 * 1024 ** 3,
      help: "Free room of a directory's disk below which there is a warning.",
      group: LIMITS,
    }),
    failFreeBytes: size({
      name: "fail-free",
      ...here,
      default: 512 * 1024 ** 2,
      help: "Free room of a directory's disk below which it has failed.",
      group: LIMITS,
    }),
    certificateMs: duration({
      name: "warn-certificate",
      ...here,
      default: CERTIFICATE_WARN_MS,
      help: "A certificate that ends within so long is a warning.",
      group: LIMITS,
    }),
    timeoutMs: duration({
      name: "timeout",
      ...here,
      default: 5000,
      minMs: 1,
      help: "Longest wait for an answer of the server.",
      group: LIMITS,
    }),
    ...outputOptions(),
    ...programOptions(),
  },
  checks: serverChecks,
};

const STYLES: Readonly<Record<Finding["state"], Style>> = { ok: "green", warn: "yellow", fail: "red", skip: "dim" };

/** Runs `vbg doctor`. Returns the exit code. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnce(program, { around, run: async (settings) => await doctor(settings, around) });
}

async function doctor(settings: DoctorSettings, around: ProgramContext): Promise<number> {
  const output = outputOf(around);
  const isJson = wantsJson(settings, output);
  const found: Finding[] = [];
  for await (const findings of examinations(settings, around)) {
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
  await output.flush();
  return ok ? EXIT.ok : EXIT.failure;
}

/** Runs the checks one by one, so that users see which one is slow. */
async function* examinations(settings: DoctorSettings, around: ProgramContext): AsyncGenerator<Finding[]> {
  const { environment } = around;
  const { journalDir, stateDir, interfaces, certificates, timeoutMs } = settings;
  const [limits, nowMs] = [settings, systemClock.wallUs() / 1000];
  let server: ChosenServer | undefined;
  const choose = async () => {
    const config = await loadClientConfig({ path: settings.config, environment });
    const { findBoats } = await import("@vessel/gateway");
    const signal = stoppedBy(around);
    const note = (text: string) => around.complain(`${program.name}: ${text}`);
    return server = await chooseServer(settings, { config, discover: findBoats, environment, signal, note });
  };
  yield await checkServer({ choose, timeoutMs });
  yield await checkServerCertificate(server?.address().url ?? "", { nowMs, limits, timeoutMs });
  for (const path of certificates) yield [await checkCertificate(path, { nowMs, limits })];
  yield [await checkDirectory(journalDir, { name: "journal directory", flag: "-journal-dir", limits })];
  yield [await checkDirectory(stateDir, { name: "state directory", flag: "-state-dir", limits })];
  yield await checkInterfaces(interfaces);
  yield [await checkClock(nowMs)];
}
