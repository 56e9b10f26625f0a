import { isWideOpen, readTokens, type TokenSettings } from "./auth_file.ts";
import { OptionGroup, reloadable } from "./option_types.ts";
import { type Check, refuse, type SettingsOf, warn } from "./options.ts";
import { reasonOf, tlsPairProblem } from "./tls_pair.ts";

const access = new OptionGroup("Access");

/** Options of access, the same for every server. */
export const authOptions = {
  authFile: reloadable(access.text({
    name: "auth-file",
    placeholder: "FILE",
    help:
      "JSON file of access tokens: a list of { name, sha256, scopes: [read, send, admin] }; `printf %s TOKEN | sha256sum` " +
      "computes the digest. In a cloud, instances: [ID] limits a token to those boats. Read again at SIGHUP. Without " +
      "tokens every request is allowed.",
  })),
  apiKey: reloadable(access.text({
    name: "api-key",
    placeholder: "KEY",
    secret: true,
    help: "One token with all scopes. Prefer VBG_API_KEY: other users can see command lines.",
  })),
  allowOrigins: reloadable(access.list({
    name: "allow-origins",
    placeholder: "ORIGIN",
    commas: true,
    help:
      "Other origins whose web pages may send and use sessions, such as https://chart.example.com; *: all. Pages of any " +
      "origin may read everything else.",
    validate: checkOrigin,
  })),
  tlsCert: access.text({
    name: "tls-cert",
    placeholder: "FILE",
    help:
      "PEM file with the server's certificate chain: HTTPS instead of HTTP. Requires -tls-key. Changed files are reloaded " +
      "within 10 seconds; if they cannot be used, the old certificate stays in use.",
  }),
  tlsKey: access.text({
    name: "tls-key",
    placeholder: "FILE",
    help: "PEM file with the key of -tls-cert, not encrypted.",
  }),
};

/** Settings of access. */
export type AuthSettings = SettingsOf<typeof authOptions>;

/** Checks of the settings of tokens. */
export const tokenChecks: readonly Check<TokenSettings>[] = [
  refuse(["authFile"], ({ authFile }) => reasonOf(() => readTokens({ authFile, apiKey: "" }))),
  warn(["authFile"], ({ authFile }) => {
    if (authFile === "" || reasonOf(() => readTokens({ authFile, apiKey: "" })) !== undefined) return undefined;
    return isWideOpen(authFile) ? `Others can read "${authFile}", or its group can write it: chmod 640` : undefined;
  }),
  refuse(
    ["apiKey"],
    ({ apiKey }) =>
      /^[\x21-\x7e]*$/.test(apiKey) ? undefined : "Cannot use the API key: expected printable ASCII without spaces",
  ),
];

/** Checks of several settings of access, and of the files that they name. */
export const authChecks: readonly Check<AuthSettings>[] = [
  ...tokenChecks,
  refuse(
    ["tlsCert", "tlsKey"],
    ({ tlsCert, tlsKey }) => tlsPairProblem({ cert: tlsCert, key: tlsKey }, { cert: "tls-cert", key: "tls-key" }),
  ),
];

/** `scheme://host[:port]`, as browsers write it. */
function checkOrigin(origin: string): string | undefined {
  if (origin === "*" || origin === originOf(origin)) return undefined;
  return `Cannot read the origin "${origin}": expected scheme://host[:port] in lower case and without a path, or *`;
}

/** Schemes of browsers' own pages (`chrome-extension:`) have no origin of their own as a URL. */
function originOf(text: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#@\s]+$/.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  return origin === "null" ? text.toLowerCase() : origin;
}
