/**
 * `vbg audit`: compares a boat's journal with what a cloud holds of it.
 *
 * @module
 */
import { outputOptions, wantsJson } from "../../client/client_options.ts";
import { EXIT, outputOf, type Program, type ProgramContext, runOnce } from "../../program/program.ts";
import { printable } from "../../program/terminal.ts";
import { silentLogger } from "@vessel/gateway/base";
import { programOptions } from "../../settings/common_options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { refuse, type SettingsOf } from "../../settings/options.ts";
import { audit } from "./compare.ts";
import { boatDirectory, cloudDirectory } from "./location.ts";
import { findStoredParts } from "./parts.ts";
import { formatJson, formatReport } from "./report.ts";
import { isStoreUrl } from "../../settings/store_endpoint.ts";
import { openStoredBoat, type StoredBoat } from "../store/stored_boat.ts";

const flags = flagGroup("Input");

const options = {
  boat: flags.text({ name: "boat", placeholder: "DIR", help: "Journal directory of the boat." }),
  cloud: flags.text({
    name: "cloud",
    placeholder: "DIR",
    help:
      "Directory of the boat in the cloud's -data-dir, or the -data-dir itself if it holds only one boat; or an object " +
      "store, s3://BUCKET/PREFIX or file:///FOLDER. Frames that the cloud has not stored yet are missing there.",
  }),
  storeEndpoint: storeEndpointOption,
  instanceId: optional(flags.text({
    name: "instance-id",
    placeholder: "ID",
    help: "Boat in the object store. Without it: the only one.",
  })),
  epoch: optional(flags.text({
    name: "epoch",
    placeholder: "HEX",
    help: "Compare only this epoch: its first 8 to 32 hex digits.",
    validate: (value) =>
      /^([0-9a-f]{8,32})?$/.test(value) ? undefined : `Cannot read the epoch "${value}": expected 8 to 32 hex digits`,
  })),
  truth: optional(flags.text({
    name: "truth",
    placeholder: "FILE",
    help:
      "Frames that were sent on the bus, to compare with the cloud, too: one line per frame, identifier#payload in " +
      "hexadecimal, no two lines the same.",
  })),
  ...outputOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg audit`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg audit",
  summary: "compares a boat's journal with what a cloud holds of it, frame by frame and byte for byte; both are only " +
    "read, torn files and write-ahead logs included. Exit code 1: something is missing, extra or different",
  options,
  checks: [
    refuse(
      ["instanceId", "cloud"],
      ({ instanceId, cloud }) =>
        instanceId !== undefined && !isStoreUrl(cloud) && "Cannot use -instance-id without an object store as -cloud",
    ),
    refuse(
      ["boat", "cloud"],
      ({ boat, cloud }) =>
        (boat === "" || cloud === "") && "Cannot compare: expected both -boat DIR and -cloud DIR|URL",
    ),
  ],
};

/** Runs `vbg audit`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    run: async (settings) => {
      const output = outputOf(context);
      const boat = await boatDirectory(settings.boat);
      using stored = isStoreUrl(settings.cloud) ? await openStored(settings) : undefined;
      const cloud = stored ? await findStoredParts(stored.journal) : await cloudDirectory(settings.cloud);
      const report = await audit({ ...settings, boat, cloud });
      const lines = wantsJson(settings, output)
        ? formatJson(report)
        : formatReport(report).split("\n").map(printable).join("\n");
      await output.write(`${lines}\n`);
      return report.isGood ? EXIT.ok : EXIT.failure;
    },
  });
}

function openStored({ cloud, storeEndpoint, instanceId }: SettingsOf<typeof options>): Promise<StoredBoat> {
  return openStoredBoat(cloud, { endpoint: storeEndpoint, id: instanceId, flag: "-instance-id", log: silentLogger });
}
