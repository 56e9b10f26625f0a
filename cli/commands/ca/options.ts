import { isIP } from "node:net";
import { isHostName } from "@vessel/gateway/cloud";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { boolean, integer, list, optional, text } from "../../settings/option_types.ts";
import type { Option, Options } from "../../settings/options.ts";

/** Settings of all commands of `vbg-cloud ca`. */
export interface CaSettings extends ProgramSettings {
  /** Directory of the authority. */
  caDir: string;
}

/** Settings of `vbg-cloud ca init`. */
export interface CaInitSettings extends CaSettings {
  name: string;
  days: number;
}

/** Settings of `vbg-cloud ca issue`. */
export interface CaIssueSettings extends CaSettings {
  hosts: readonly string[];
  ips: readonly string[];
  days: number;
  force: boolean;
}

/** Settings of `vbg-cloud ca revoke`. */
export interface CaRevokeSettings extends CaSettings {
  /** Undefined: all certificates of the boat. */
  serial: string | undefined;
}

/** Settings of `vbg-cloud ca list`. */
export interface CaListSettings extends CaSettings {
  json: boolean;
}

const AUTHORITY = "Authority";
const CERTIFICATE = "Certificate";
/** Settings that only the command line has. */
const here = { key: [], environment: false } as const;
const AUTHORITY_DAYS = 3650;
const CERTIFICATE_DAYS = 730;
const MAX_DAYS = 7300;
/** Longest common name (RFC 5280), characters. */
const MAX_NAME_LENGTH = 64;

const caDir: Option<string> = text({
  name: "ca-dir",
  key: [],
  placeholder: "DIR",
  default: "vbg-ca",
  help: "Directory of the authority. Its key can create a certificate for any boat: do not keep it on a server.",
  group: AUTHORITY,
  validate: (dir) => dir === "" ? "Cannot use an empty path as the directory" : undefined,
});

/** Options of `vbg-cloud ca init`. */
export const caInitOptions: Options<CaInitSettings> = {
  caDir,
  name: text({
    name: "name",
    ...here,
    placeholder: "NAME",
    default: "Vessel Bus Gateway",
    help: "Common name of the authority.",
    group: AUTHORITY,
    validate: (name) =>
      name.trim() !== "" && name.length <= MAX_NAME_LENGTH
        ? undefined
        : `Cannot use the common name "${name}": expected 1 to ${MAX_NAME_LENGTH} characters`,
  }),
  days: integer({
    name: "days",
    ...here,
    placeholder: "DAYS",
    default: AUTHORITY_DAYS,
    min: 1,
    max: MAX_DAYS,
    help: "Validity of the authority, in days. No certificate of it is valid for longer.",
    group: AUTHORITY,
  }),
  ...programOptions(),
};

/** Options of `vbg-cloud ca issue`. */
export const caIssueOptions: Options<CaIssueSettings> = {
  caDir,
  hosts: list({
    name: "host",
    ...here,
    placeholder: "HOST",
    default: [],
    help: "Host name of the cloud, as boats use it: creates the cloud's certificate. May be repeated.",
    group: CERTIFICATE,
    validate: (host) => {
      if (isHostName(host)) return undefined;
      return isIP(host) === 0 ? `Cannot read the host name "${host}"` : `"${host}" is an IP address: use -ip ${host}`;
    },
  }),
  ips: list({
    name: "ip",
    ...here,
    placeholder: "ADDRESS",
    default: [],
    help: "IP address of the cloud, as boats use it: creates the cloud's certificate. May be repeated.",
    group: CERTIFICATE,
    validate: (ip) => isIP(ip) !== 0 ? undefined : `Cannot read the IP address "${ip}"`,
  }),
  days: integer({
    name: "days",
    ...here,
    placeholder: "DAYS",
    default: CERTIFICATE_DAYS,
    min: 1,
    max: MAX_DAYS,
    help: "Validity of the certificate, in days. It ends with the authority at the latest.",
    group: CERTIFICATE,
  }),
  force: boolean({
    name: "force",
    ...here,
    default: false,
    help: "Overwrite the files of an earlier certificate, which stays valid until it expires or is revoked.",
    group: CERTIFICATE,
  }),
  ...programOptions(),
};

/** Options of `vbg-cloud ca revoke`. */
export const caRevokeOptions: Options<CaRevokeSettings> = {
  caDir,
  serial: optional(text({
    name: "serial",
    ...here,
    placeholder: "HEX",
    default: "",
    help: "Serial number of the certificate to revoke. Without it: all certificates of the boat.",
    group: CERTIFICATE,
  })),
  ...programOptions(),
};

/** Options of `vbg-cloud ca list`. */
export const caListOptions: Options<CaListSettings> = {
  caDir,
  json: boolean({
    name: "json",
    ...here,
    default: false,
    help: "Print each certificate as a line of JSON.",
    group: CERTIFICATE,
  }),
  ...programOptions(),
};
