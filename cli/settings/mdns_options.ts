import { checkInstanceName } from "@vessel/gateway";
import { boolean, text } from "./option_types.ts";
import type { Check, SettingsOf } from "./options.ts";

const FINDING = "Finding";

/** Options of being found on the local network. */
export const mdnsOptions = {
  mdns: boolean({
    name: "mdns",
    default: true,
    help:
      "Announce the server by mDNS as _vbg._tcp, so that clients find it by its name. Not done when it listens on " +
      "its own machine alone, nor for the demo.",
    group: FINDING,
  }),
  mdnsName: text({
    name: "mdns-name",
    placeholder: "NAME",
    default: "",
    help:
      'Name that the server is found by: 1 to 63 bytes without dots. Taken ones get a number: "NAME (2)". Default: ' +
      "the machine's name.",
    group: FINDING,
    validate: (name) => name === "" ? undefined : checkInstanceName(name),
  }),
  mdnsLplex: boolean({
    name: "mdns-lplex",
    default: false,
    help: "Announce it as _lplex._tcp as well, under the same name: clients of lplex find it.",
    group: FINDING,
  }),
};

/** Settings of mDNS. */
export type MdnsSettings = SettingsOf<typeof mdnsOptions>;

/** Rules for the name. */
export const mdnsChecks: readonly Check<MdnsSettings>[] = [
  {
    settings: ["mdnsName", "mdns"],
    severity: "warning",
    test: ({ mdns, mdnsName }) => !mdns && mdnsName !== "" ? "Not used: -mdns is off" : undefined,
  },
  {
    settings: ["mdnsLplex", "mdns"],
    severity: "warning",
    test: ({ mdns, mdnsLplex }) => !mdns && mdnsLplex ? "Not used: -mdns is off" : undefined,
  },
];
