import { isHostName } from "@vessel/gateway/cloud";
import { isIP } from "node:net";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { Option, SettingsOf } from "../../settings/options.ts";

/** Settings of all commands of `vbg-cloud ca`. */
export interface CaSettings extends ProgramSettings {
  /** Directory of the authority. */
  caDir: string;
}

const authority = flagGroup("Authority");
const certificate = flagGroup("Certificate");
const AUTHORITY_DAYS = 3650;
const CERTIFICATE_DAYS = 730;
const MAX_DAYS = 7300;
/** Longest common name (RFC 5280), characters. */
const MAX_NAME_LENGTH = 64;

const caDir: Option<string> = authority.text({
  name: "ca-dir",
  environment: true,
  placeholder: "DIR",
  default: "vbg-ca",
  help: "Directory of the authority. Its key can create a certificate for any boat: do not keep it on a server.",
  validate: (dir) => dir === "" ? "Cannot use an empty path as the directory" : undefined,
});

/** Options of `vbg-cloud ca init`. */
export const caInitOptions = {
  caDir,
  name: authority.text({
    name: "name",
    default: "Vessel Bus Gateway",
    help: "Common name of the authority.",
    validate: (name) =>
      name.trim() !== "" && name.length <= MAX_NAME_LENGTH
        ? undefined
        : `Cannot use the common name "${name}": expected 1 to ${MAX_NAME_LENGTH} characters`,
  }),
  days: authority.integer({
    name: "days",
    placeholder: "DAYS",
    default: AUTHORITY_DAYS,
    min: 1,
    max: MAX_DAYS,
    help: "Validity of the authority, in days. No certificate of it is valid for longer.",
  }),
  ...programOptions,
};

/** Settings of `vbg-cloud ca init`. */
export type CaInitSettings = SettingsOf<typeof caInitOptions>;

/** Options of `vbg-cloud ca issue`. */
export const caIssueOptions = {
  caDir,
  hosts: certificate.list({
    name: "host",
    placeholder: "HOST",
    help:
      "Host name of the cloud, as boats use it: creates the cloud's certificate. With -node: of the node. May be repeated.",
    validate: (host) => {
      if (isHostName(host)) return undefined;
      return isIP(host) === 0 ? `Cannot read the host name "${host}"` : `"${host}" is an IP address: use -ip ${host}`;
    },
  }),
  ips: certificate.list({
    name: "ip",
    placeholder: "ADDRESS",
    help:
      "IP address of the cloud, as boats use it: creates the cloud's certificate. With -node: of the node. May be repeated.",
    validate: (ip) => isIP(ip) !== 0 ? undefined : `Cannot read the IP address "${ip}"`,
  }),
  node: optional(certificate.text({
    name: "node",
    placeholder: "NAME",
    help: "Create the certificate of the node NAME for the host names and addresses that other nodes use.",
  })),
  days: certificate.integer({
    name: "days",
    placeholder: "DAYS",
    default: CERTIFICATE_DAYS,
    min: 1,
    max: MAX_DAYS,
    help: "Validity of the certificate, in days. It ends with the authority at the latest.",
  }),
  force: certificate.boolean({
    name: "force",
    help: "Overwrite the files of an earlier certificate, which stays valid until it expires or is revoked.",
  }),
  ...programOptions,
};

/** Settings of `vbg-cloud ca issue`. */
export type CaIssueSettings = SettingsOf<typeof caIssueOptions>;

/** Options of `vbg-cloud ca revoke`. */
export const caRevokeOptions = {
  caDir,
  node: optional(certificate.text({
    name: "node",
    placeholder: "NAME",
    help: "Revoke the certificates of the node NAME instead of a boat.",
  })),
  serial: optional(certificate.text({
    name: "serial",
    placeholder: "HEX",
    help: "Serial number of the certificate to revoke. Without it: all certificates of the boat or node.",
  })),
  ...programOptions,
};

/** Settings of `vbg-cloud ca revoke`. */
export type CaRevokeSettings = SettingsOf<typeof caRevokeOptions>;

/** Options of `vbg-cloud ca list`. */
export const caListOptions = {
  caDir,
  json: certificate.boolean({ name: "json", help: "Print each certificate as a line of JSON." }),
  ...programOptions,
};

/** Settings of `vbg-cloud ca list`. */
export type CaListSettings = SettingsOf<typeof caListOptions>;
