import { checkInstanceName } from "@vessel/gateway/boat";
import { boolean, text } from "./option_types.ts";
import type { Check, SettingsOf } from "./options.ts";

const FINDING = "Finding";

/** Options of mDNS. */
export const mdnsOptions = {
  mdns: boolean({
    name: "mdns",
    default: true,
    help: "Announce the server by mDNS as _vbg._tcp, so that clients find it by name. A server that listens only on " +
      "its own machine, and the demo, are not announced.",
    group: FINDING,
  }),
  mdnsName: text({
    name: "mdns-name",
    placeholder: "NAME",
    default: "",
    help: 'Announced name: 1 to 63 bytes without dots. A name in use gets a number: "NAME (2)". Default: ' +
      "the host name.",
    group: FINDING,
    validate: (name) => name === "" ? undefined : checkInstanceName(name),
  }),
  mdnsLplex: boolean({
    name: "mdns-lplex",
    default: false,
    help: "Also announce it as _lplex._tcp under the same name, for clients of lplex.",
    group: FINDING,
  }),
};

/** Settings of mDNS. */
export type MdnsSettings = SettingsOf<typeof mdnsOptions>;

/** Checks of several settings of mDNS. */
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
