import { checkInstanceName } from "@vessel/gateway/boat";
import { OptionGroup } from "./option_types.ts";
import { type Check, type SettingsOf, warn } from "./options.ts";

const finding = new OptionGroup("Finding");

/** Options of mDNS. */
export const mdnsOptions = {
  mdns: finding.boolean({
    name: "mdns",
    default: true,
    help: "Announce the server by mDNS as _vbg._tcp, so that clients find it by name. A server that listens only on " +
      "its own machine, and the demo, are not announced.",
  }),
  mdnsName: finding.text({
    name: "mdns-name",
    help: 'Announced name: 1 to 63 bytes without dots. A name in use gets a number: "NAME (2)". Default: ' +
      "the host name.",
    validate: (name) => name === "" ? undefined : checkInstanceName(name),
  }),
  mdnsLplex: finding.boolean({
    name: "mdns-lplex",
    help: "Also announce it as _lplex._tcp under the same name, for clients of lplex.",
  }),
};

/** Settings of mDNS. */
export type MdnsSettings = SettingsOf<typeof mdnsOptions>;

/** Checks of several settings of mDNS. */
export const mdnsChecks: readonly Check<MdnsSettings>[] = [
  warn(["mdnsName", "mdns"], ({ mdns, mdnsName }) => !mdns && mdnsName !== "" && "Not used: -mdns is off"),
  warn(["mdnsLplex", "mdns"], ({ mdns, mdnsLplex }) => !mdns && mdnsLplex && "Not used: -mdns is off"),
];
