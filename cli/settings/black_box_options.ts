import { BOAT_DEFAULTS } from "@vessel/gateway/boat";
import { OptionGroup } from "./option_types.ts";

const blackBox = new OptionGroup("Black box", { section: "blackbox" });

/** Options of the black box. */
export const blackBoxOptions = {
  blackBoxBytes: blackBox.size({
    name: "blackbox-max-size",
    beyond: "The oldest files are deleted.",
    default: BOAT_DEFAULTS.blackBoxBytes,
    help:
      "Most bytes of the frames around alerts, man-overboard messages and marks: two minutes each, in the directory blackbox " +
      "of the journal, or of the state if nothing is recorded. Retention of the journal does not delete them. 0: none are kept.",
  }),
};
