import { UNIT_SYSTEMS, type UnitSystem } from "@vessel/gateway/units";
import { boolean, oneOf, optional } from "../settings/option_types.ts";
import type { Options } from "../settings/options.ts";
import type { Output } from "../program/terminal.ts";

/** Units of values in text output. */
export interface UnitsChoice {
  /** Undefined: nautical on a terminal, else SI. */
  units: UnitSystem | undefined;
}

/** Whether JSON has labels. */
export interface LabelsChoice {
  labels: boolean;
}

const OUTPUT = "Output";

/** Row of UnitsChoice. */
export function unitsOptions(): Options<UnitsChoice> {
  return {
    units: optional(oneOf({
      name: "units",
      key: [],
      default: "nautical",
      choices: UNIT_SYSTEMS,
      help:
        "Units of the values: nautical (kn, nm, degrees and minutes), metric (km/h, km, decimal degrees), or si (as " +
        "in JSON). Without it: nautical on a terminal, else si. JSON is always in SI.",
      group: OUTPUT,
    })),
  };
}

/** Row of LabelsChoice. */
export function labelsOptions(): Options<LabelsChoice> {
  return {
    labels: boolean({
      name: "labels",
      key: [],
      environment: false,
      default: false,
      help: "In JSON: add an object labels with the labels of numbers that are codes. Text output always has them.",
      group: OUTPUT,
    }),
  };
}

/** The units of an output. */
export function unitsOf({ units }: UnitsChoice, { isTerminal }: Pick<Output, "isTerminal">): UnitSystem {
  return units ?? (isTerminal ? "nautical" : "si");
}
