import { isWideOpen, readTokens, type TokenSettings } from "./auth_file.ts";
import { list, reloadable, text } from "./option_types.ts";
import type { Check, SettingsOf } from "./options.ts";
import { reasonOf, tlsPairProblem } from "./tls_pair.ts";

const ACCESS = "Access";

/** Options of who may ask, the same for every server. */
export const authOptions = {
  authFile: reloadable(text({
    name: "auth-file",
    placeholder: "PATH",
    default: "",
    help:
      "JSON file with the tokens that may ask: a list of { name, sha256, scopes: [read, send, admin] }; `printf %s " +
      "TOKEN | sha256sum` makes the digest. With instances: [ID], too, a cloud tells it of those boats alone. Read again " +
      "at SIGHUP. Without tokens everybody may ask for everything.",
    group: ACCESS,
  })),
  apiKey: reloadable(text({
    name: "api-key",
    placeholder: "KEY",
    default: "",
    secret: true,
    help: "One token that is good for everything. Better given by VBG_API_KEY: others can see command lines.",
    group: ACCESS,
  })),
  allowOrigins: reloadable(list({
    name: "allow-origins",
    placeholder: "ORIGIN",
    commas: true,
    default: [],
    help:
      "Other origins whose web pages may send and use sessions, such as https://chart.example.com; *: all. Any page may " +
      "read everything else.",
    group: ACCESS,
    validate: checkOrigin,
  })),
  tlsCert: text({
    name: "tls-cert",
    placeholder: "PATH",
    default: "",
    help:
      "PEM file with the server's certificate, and those up to its authority: HTTPS instead of HTTP. With -tls-key. " +
      "Used anew within 10 seconds when the files change; what cannot be used leaves the old one in use.",
    group: ACCESS,
  }),
  tlsKey: text({
    name: "tls-key",
    placeholder: "PATH",
    default: "",
    help: "PEM file with the key of -tls-cert, not encrypted.",
    group: ACCESS,
  }),
};

/** Settings of access. */
export type AuthSettings = SettingsOf<typeof authOptions>;

/** What tokens must be like. */
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
      return isWideOpen(authFile) ? `Everybody may read, or its group change, "${authFile}": chmod 640` : undefined;
    },
  },
  {
    settings: ["apiKey"],
    severity: "error",
    test: ({ apiKey }) =>
      /^[\x21-\x7e]*$/.test(apiKey) ? undefined : "Cannot use the API key: expected printable ASCII without spaces",
  },
];

/** What settings of access must satisfy together, and what must be in the files that they name. */
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
