import { UNIT_SYSTEMS, type UnitSystem } from "@vessel/gateway/units";
import { flagGroup, optional } from "../settings/option_types.ts";
import type { SettingsOf } from "../settings/options.ts";
import type { Output } from "../program/terminal.ts";

const output = flagGroup("Output");

/** Option of the units of values in text output. */
export const unitsOptions = {
  units: optional(output.oneOf<UnitSystem>({
    name: "units",
    environment: true,
    default: "nautical",
    choices: UNIT_SYSTEMS,
    help:
      "Units of the values: nautical (kn, nm, degrees and minutes), metric (km/h, km, decimal degrees), or si (as in " +
      "JSON). Without it: nautical on a terminal, else si. JSON is always in SI.",
  })),
};

/** Option of labels in JSON. */
export const labelsOptions = {
  labels: output.boolean({
    name: "labels",
    help: "In JSON: add an object labels with the labels of numbers that are codes. Text output always has them.",
  }),
};

/** The units of an output. */
export function unitsOf(
  { units }: SettingsOf<typeof unitsOptions>,
  { isTerminal }: Pick<Output, "isTerminal">,
): UnitSystem {
  return units ?? (isTerminal ? "nautical" : "si");
}
