import { isWideOpen, readTokens, type TokenSettings } from "./auth_file.ts";
import { list, reloadable, text } from "./option_types.ts";
import type { Check, SettingsOf } from "./options.ts";
import { reasonOf, tlsPairProblem } from "./tls_pair.ts";

const ACCESS = "Access";

/** Options of access, the same for every server. */
export const authOptions = {
  authFile: reloadable(text({
    name: "auth-file",
    placeholder: "FILE",
    default: "",
    help:
      "JSON file of access tokens: a list of { name, sha256, scopes: [read, send, admin] }; `printf %s TOKEN | sha256sum` " +
      "computes the digest. In a cloud, instances: [ID] limits a token to those boats. Read again at SIGHUP. Without " +
      "tokens every request is allowed.",
    group: ACCESS,
  })),
  apiKey: reloadable(text({
    name: "api-key",
    placeholder: "KEY",
    default: "",
    secret: true,
    help: "One token with all scopes. Prefer VBG_API_KEY: other users can see command lines.",
    group: ACCESS,
  })),
  allowOrigins: reloadable(list({
    name: "allow-origins",
    placeholder: "ORIGIN",
    commas: true,
    default: [],
    help:
      "Other origins whose web pages may send and use sessions, such as https://chart.example.com; *: all. Pages of any " +
      "origin may read everything else.",
    group: ACCESS,
    validate: checkOrigin,
  })),
  tlsCert: text({
    name: "tls-cert",
    placeholder: "FILE",
    default: "",
    help:
      "PEM file with the server's certificate chain: HTTPS instead of HTTP. Requires -tls-key. Changed files are reloaded " +
      "within 10 seconds; if they cannot be used, the old certificate stays in use.",
    group: ACCESS,
  }),
  tlsKey: text({
    name: "tls-key",
    placeholder: "FILE",
    default: "",
    help: "PEM file with the key of -tls-cert, not encrypted.",
    group: ACCESS,
  }),
};

/** Settings of access. */
export type AuthSettings = SettingsOf<typeof authOptions>;

/** Checks of the settings of tokens. */
export const tokenChecks: readonly Check<TokenSettings>[] = [
  {
    settings: ["authFile"],
    severity: "error",
    test: ({ authFile }) => reasonOf(() => readTokens({ authFile, apiKey: "" })),
  },
  {
    settings: ["authFile"],
    severity: "warning",
    test: ({ authFile }) => {
      if (authFile === "" || reasonOf(() => readTokens({ authFile, apiKey: "" })) !== undefined) return undefined;
      return isWideOpen(authFile) ? `Others can read "${authFile}", or its group can write it: chmod 640` : undefined;
    },
  },
  {
    settings: ["apiKey"],
    severity: "error",
    test: ({ apiKey }) =>
      /^[\x21-\x7e]*$/.test(apiKey) ? undefined : "Cannot use the API key: expected printable ASCII without spaces",
  },
];

/** Checks of several settings of access, and of the files that they name. */
export const authChecks: readonly Check<AuthSettings>[] = [
  ...tokenChecks,
  {
    settings: ["tlsCert", "tlsKey"],
    severity: "error",
    test: ({ tlsCert, tlsKey }) => tlsPairProblem({ cert: tlsCert, key: tlsKey }, { cert: "tls-cert", key: "tls-key" }),
  },
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
