/**
 * `vbg audit`: compares a boat's journal with what a cloud holds of it.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { audit } from "./compare.ts";
import { boatDirectory, cloudDirectory } from "./location.ts";
import { formatJson, formatReport } from "./report.ts";
import { type OutputChoice, outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { optional, text } from "../../settings/option_types.ts";
import { EXIT, outputOf, type Program, type ProgramContext, runOnce } from "../../program/program.ts";
import { printable } from "../../program/terminal.ts";

interface AuditSettings extends ProgramSettings, OutputChoice {
  boat: string;
  cloud: string;
  epoch: string | undefined;
  truth: string | undefined;
}

const GROUP = "Input";
const here = { key: [], environment: false } as const;

/** Name, operands and settings of `vbg audit`. */
export const program: Program<AuditSettings> = {
  name: "vbg audit",
  version: VERSION,
  summary: "compares a boat's journal with what a cloud holds of it, frame by frame and byte for byte; both are only " +
    "read, torn files and write-ahead logs included. Exit code 1: something is missing, extra or different",
  options: {
    boat: text({
      name: "boat",
      ...here,
      placeholder: "DIR",
      default: "",
      help: "Journal directory of the boat.",
      group: GROUP,
    }),
    cloud: text({
      name: "cloud",
      ...here,
      placeholder: "DIR",
      default: "",
      help: "Directory of the boat in the cloud's -data-dir, or the -data-dir itself if it holds only one boat.",
      group: GROUP,
    }),
    epoch: optional(text({
      name: "epoch",
      ...here,
      placeholder: "HEX",
      default: "",
      help: "Compare only this epoch: its first 8 to 32 hex digits.",
      group: GROUP,
      validate: (value) =>
        /^([0-9a-f]{8,32})?$/.test(value) ? undefined : `Cannot read the epoch "${value}": expected 8 to 32 hex digits`,
    })),
    truth: optional(text({
      name: "truth",
      ...here,
      placeholder: "FILE",
      default: "",
      help:
        "Frames that were sent on the bus, to compare with the cloud, too: one line per frame, identifier#payload in " +
        "hexadecimal, no two lines the same.",
      group: GROUP,
    })),
    ...outputOptions(),
    ...programOptions(),
  },
  checks: [{
    settings: ["boat", "cloud"],
    severity: "error",
    test: ({ boat, cloud }) =>
      boat === "" || cloud === "" ? "Cannot compare: expected both -boat DIR and -cloud DIR" : undefined,
  }],
};

/** Runs `vbg audit`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    run: async (settings) => {
      const output = outputOf(context);
      const [boat, cloud] = [await boatDirectory(settings.boat), await cloudDirectory(settings.cloud)];
      const report = await audit({ ...settings, boat, cloud });
      const lines = wantsJson(settings, output)
        ? formatJson(report)
        : formatReport(report).split("\n").map(printable).join("\n");
      await output.write(`${lines}\n`);
      await output.flush();
      return report.isGood ? EXIT.ok : EXIT.failure;
    },
  });
}
