import { mmsiProblem, type VesselSettings } from "@vessel/gateway/boat";
import { OptionGroup } from "./option_types.ts";
import { type Check, type SettingsOf, warn } from "./options.ts";

const group = new OptionGroup("Signal K");

/** Options of Signal K. */
export const signalkOptions = {
  signalk: group.boolean({
    name: "signalk",
    default: true,
    help:
      "Serve Signal K at /signalk: values, stream and history, for KIP, Freeboard-SK, OpenCPN, WilhelmSK. Read only. " +
      "It is loaded at the first request.",
  }),
  vesselName: group.text({ name: "vessel-name", placeholder: "NAME", help: "Name of the vessel in Signal K." }),
  vesselMmsi: group.text({
    name: "vessel-mmsi",
    placeholder: "N",
    help:
      "MMSI of the vessel in Signal K, nine digits. Without it the vessel has an id made from the name of the server.",
    validate: (text) => {
      const problem = text === "" ? undefined : mmsiProblem(text);
      return problem && `Cannot use the MMSI "${text}": ${problem}`;
    },
  }),
  webApps: group.text({
    name: "web-apps",
    placeholder: "DIR",
    help:
      "Directory with web apps for Signal K as npm installs them, such as KIP and Freeboard-SK: each is served at " +
      "/NAME/, such as /@mxtommy/kip/. They may use the server as its own page may: install only what you trust.",
  }),
};

/** Settings of Signal K. */
export type SignalKSettings = SettingsOf<typeof signalkOptions>;

/** Checks of several settings of Signal K. */
export const signalkChecks: readonly Check<SignalKSettings>[] = (["vesselName", "vesselMmsi", "webApps"] as const).map(
  (name): Check<SignalKSettings> =>
    warn(["signalk", name], (settings) => !settings.signalk && settings[name] !== "" && "Not used: -signalk is off"),
);

/** What is known of the vessel; undefined: Signal K is off. */
export function signalkOf({ signalk, vesselName, vesselMmsi }: SignalKSettings): VesselSettings | undefined {
  if (!signalk) return undefined;
  return { ...(vesselName !== "" && { name: vesselName }), ...(vesselMmsi !== "" && { mmsi: vesselMmsi }) };
}
