import assert from "node:assert/strict";
import { authChecks, authOptions, type AuthSettings } from "../../cli/settings/auth_options.ts";
import { parseTokens, readTokens } from "../../cli/settings/auth_file.ts";
import { parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";
import { TestAuthority } from "../support/certificates.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const FILES = needs({ permissions: ["read", "write"] });
const OPENSSL = needs({ permissions: ["write"], programs: ["openssl"] });

/** `printf %s open-sesame | sha256sum` */
const DIGEST = "d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7";
const TOKEN = { name: "a", sha256: DIGEST, scopes: ["read"] };

function resolve(args: string[], environment: Record<string, string> = {}) {
  const { flags, error } = parseCommandLine(args, authOptions);
  assert.equal(error, undefined);
  return resolveSettings<AuthSettings>(authOptions, { flags, environment, checks: authChecks });
}

function problems(...args: string[]): string[] {
  return resolve(args).problems.map(({ severity, name, message }) => `${severity} ${name}: ${message}`);
}

Deno.test("without settings there is no token, no other origin and no TLS", () => {
  const { settings } = resolve([]);
  assert.deepEqual(settings, { authFile: "", apiKey: "", allowOrigins: [], tlsCert: "", tlsKey: "" });
  assert.deepEqual(readTokens(settings), []);
});

Deno.test("the API key is a token that is good for everything, and is printed nowhere", () => {
  const { settings } = resolve([], { VBG_API_KEY: "open-sesame" });
  assert.deepEqual(readTokens(settings!), [
    { name: "api-key", sha256: DIGEST, scopes: ["read", "send", "admin"] },
  ]);
  assert.equal(authOptions.apiKey.secret, true);
  assert.deepEqual(problems("-api-key", "open sesame"), [
    "error api-key: Cannot use the API key: expected printable ASCII without spaces",
  ]);
});

Deno.test("tokens are read from a list and from a section", () => {
  const more = {
    name: "b",
    sha256: DIGEST.toUpperCase().replace("4", "5"),
    scopes: ["send", "admin"],
    instances: ["boat-1"],
  };
  const expected = [TOKEN, { ...more, sha256: more.sha256.toLowerCase() }];
  assert.deepEqual(parseTokens([TOKEN, more]), expected);
  assert.deepEqual(parseTokens({ tokens: [TOKEN, more] }), expected);
});

/** [what is wrong, content of the file, the message] */
const BAD: [what: string, value: unknown, message: string][] = [
  ["no list", 5, "expected a list of tokens, or { tokens: [...] }"],
  ["nothing", null, "expected a list of tokens, or { tokens: [...] }"],
  ["another key", { tokns: [] }, 'the file: unknown key "tokns": did you mean "tokens"?'],
  ["an empty list", [], "has no token: omit the setting to allow every request"],
  ["an empty list in a section", { tokens: [] }, "has no token: omit the setting to allow every request"],
  ["no object", [TOKEN, "x"], "tokens[1]: expected an object with name, sha256, scopes, instances"],
  ["no name", [{ ...TOKEN, name: undefined }], "tokens[0].name: expected a text"],
  ["an empty name", [{ ...TOKEN, name: " " }], "tokens[0].name: expected a text"],
  ["a name twice", [TOKEN, { ...TOKEN, sha256: "0".repeat(64) }], "tokens[1].name: duplicate"],
  ["a token twice", [TOKEN, { ...TOKEN, name: "b" }], "tokens[1].sha256: duplicate"],
  [
    "a short digest",
    [{ ...TOKEN, sha256: "00" }],
    "tokens[0].sha256: expected 64 hex digits, made by: printf %s TOKEN | sha256sum",
  ],
  [
    "the token itself",
    [{ name: "a", token: "open-sesame", scopes: ["read"] }],
    "tokens[0].token: give its digest as sha256, made by: printf %s TOKEN | sha256sum",
  ],
  ["no scopes", [{ ...TOKEN, scopes: [] }], "tokens[0].scopes: expected a list of read, send, admin"],
  ["scopes as a text", [{ ...TOKEN, scopes: "read" }], "tokens[0].scopes: expected a list of read, send, admin"],
  [
    "an unknown scope",
    [{ ...TOKEN, scopes: ["read", "write"] }],
    'tokens[0].scopes[1]: cannot use "write": expected a list of read, send, admin',
  ],
  ["an unknown key", [{ ...TOKEN, scope: 1 }], 'tokens[0]: unknown key "scope": did you mean "scopes"?'],
  ["one instance", [{ ...TOKEN, instances: "x" }], "tokens[0].instances: expected a list of instance ids"],
  [
    "a bad instance",
    [{ ...TOKEN, instances: ["../x"] }],
    'tokens[0].instances[0]: cannot use "../x": expected an instance id',
  ],
];

for (const [what, value, message] of BAD) {
  Deno.test(`a file of tokens with ${what} is refused by its place`, () => {
    assert.throws(() => parseTokens(value), (error) => error instanceof RangeError && error.message === message);
  });
}

Deno.test("a file of tokens is checked before anything starts, and never quoted", FILES, async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/tokens.json`;
    const write = (content: string) => Deno.writeTextFile(path, content, { mode: 0o600 });
    await write(JSON.stringify([TOKEN]));
    assert.deepEqual(problems("-auth-file", path), []);
    assert.deepEqual(readTokens({ authFile: path, apiKey: "" }), [TOKEN]);
    assert.equal(readTokens({ authFile: path, apiKey: "x" }).length, 2);
    await write("{open-sesame");
    assert.deepEqual(problems("-auth-file", path), [`error auth-file: ${path}: is not JSON`]);
    await write("[]");
    assert.match(problems("-auth-file", path)[0] ?? "", /^error auth-file: \S+: has no token: omit the setting/);
    assert.match(problems("-auth-file", `${folder}/none`)[0] ?? "", /^error auth-file: \S+none: No such file/);
    assert.match(problems("-auth-file", folder)[0] ?? "", /^error auth-file: .*: Is a directory/);
  });
});

Deno.test("a file of tokens that others may read or change is warned of", FILES, async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/tokens.json`;
    await Deno.writeTextFile(path, JSON.stringify([TOKEN]));
    for (const mode of [0o604, 0o620, 0o644, 0o660]) {
      await Deno.chmod(path, mode);
      assert.deepEqual(problems("-auth-file", path), [
        `warning auth-file: Others can read "${path}", or its group can write it: chmod 640`,
      ]);
    }
  });
});

Deno.test("origins are written as browsers write them, or refused", () => {
  const origins = ["https://chart.example.com", "http://10.0.0.2:3000", "http://[::1]:8089", "*"];
  assert.deepEqual(resolve(["-allow-origins", origins.join(",")]).settings?.allowOrigins, origins);
  assert.equal(resolve(["-allow-origins", "chrome-extension://abc"]).problems.length, 0);
  const bad = [
    "chart.example.com",
    "https://a.b/",
    "https://a.b/x",
    "HTTPS://a.b",
    "https://A.b",
    "http://a:80",
    "null",
  ];
  for (const origin of [...bad, "https://", "https://u@a.b", "http://a:99999", "https://*.a.b c"]) {
    assert.match(problems("-allow-origins", origin)[0] ?? "", /^error allow-origins: Cannot read the origin "/, origin);
  }
});

Deno.test("a certificate is checked with its key before anything starts", OPENSSL, async () => {
  await inFolder(async (folder) => {
    const authority = await TestAuthority.make(folder);
    const [a, b] = [await authority.issue("a"), await authority.issue("b")];
    const told = (cert: string, key: string) => problems("-tls-cert", cert, "-tls-key", key)[0] ?? "";
    assert.equal(told(a.certPath, a.keyPath), "");
    assert.deepEqual(problems("-tls-cert", a.certPath), ["error tls-cert: Cannot use -tls-cert without -tls-key"]);
    assert.deepEqual(problems("-tls-key", a.keyPath), ["error tls-cert: Cannot use -tls-key without -tls-cert"]);
    assert.match(told(a.certPath, b.keyPath), /^error tls-cert: .*a\.crt" with .*b\.key": the key is not the one of/);
    const isPem = (what: string, label: string) =>
      new RegExp(`the ${what} cannot be read: expected PEM, "-----BEGIN ${label}-----"`);
    await Deno.writeTextFile(`${folder}/README.md`, "# Boat");
    for (const other of [a.keyPath, `${folder}/README.md`]) {
      assert.match(told(other, a.keyPath), isPem("certificate", "CERTIFICATE"));
    }
    for (const other of [a.certPath, `${folder}/README.md`]) {
      assert.match(told(a.certPath, other), isPem("key", "PRIVATE KEY"));
    }
    assert.match(told(`${folder}/none`, a.keyPath), /No such file/);
  });
});
