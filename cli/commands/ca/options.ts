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
  help: "Directory of the authority. Whoever can read the key in it can be any boat: keep it off the servers.",
  group: AUTHORITY,
  validate: (dir) => dir === "" ? "Cannot use an empty path as the directory" : undefined,
});

/** Options of `vbg-cloud ca init`. */
export const caInitOptions: Options<CaInitSettings> = {
  caDir,
  name: text({
    name: "name",
    ...here,
    default: "Vessel Bus Gateway",
    help: "Common name of the authority.",
    group: AUTHORITY,
    validate: (name) =>
      name.trim() !== "" && name.length <= MAX_NAME_LENGTH
        ? undefined
        : `Cannot be a common name: "${name}": expected 1 to ${MAX_NAME_LENGTH} characters`,
  }),
  days: integer({
    name: "days",
    ...here,
    placeholder: "DAYS",
    default: AUTHORITY_DAYS,
    min: 1,
    max: MAX_DAYS,
    help: "How long the authority is good. No certificate of it is good for longer.",
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
    help: "Host name that boats reach the cloud by: makes the cloud's certificate. May be given several times.",
    group: CERTIFICATE,
    validate: (host) => isHostName(host) ? undefined : `Cannot be a host name: "${host}"`,
  }),
  ips: list({
    name: "ip",
    ...here,
    placeholder: "ADDRESS",
    default: [],
    help: "IP address that boats reach the cloud by: makes the cloud's certificate. May be given several times.",
    group: CERTIFICATE,
    validate: (ip) => isIP(ip) !== 0 ? undefined : `Cannot be an IP address: "${ip}"`,
  }),
  days: integer({
    name: "days",
    ...here,
    placeholder: "DAYS",
    default: CERTIFICATE_DAYS,
    min: 1,
    max: MAX_DAYS,
    help: "How long the certificate is good; it ends with the authority at the latest.",
    group: CERTIFICATE,
  }),
  force: boolean({
    name: "force",
    ...here,
    default: false,
    help: "Write over the files of an earlier certificate. It stays good until it ends or is revoked.",
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
    help: "The one certificate that is revoked, by its serial number. Without it: all of the boat.",
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
    help: "Print a line of JSON for each certificate.",
    group: CERTIFICATE,
  }),
  ...programOptions(),
};
