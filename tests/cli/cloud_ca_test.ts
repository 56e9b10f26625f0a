import assert from "node:assert/strict";
import { runCloud } from "../../cli/cloud.ts";
import { parseHocon } from "../../cli/settings/hocon.ts";
import { IdentityCheck, parseRevocations } from "../../src/pki/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { taskArgs } from "../support/task.ts";

const IN_PROCESS = needs({ permissions: ["env", "read", "sys", "write"] });
const CHILDREN = needs({ permissions: ["env", "read", "run", "sys", "write"] });

/** Runs `vbg-cloud` in this process. */
async function cloud(...args: string[]) {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await runCloud({
    args,
    environment: {},
    print: (text) => printed.push(text),
    printError: (text) => complained.push(text),
  });
  return { code, printed: printed.join("\n"), complained: complained.join("\n") };
}

/** Runs a test with the directory of an authority and a way to run commands on it. */
function withAuthority(
  test: (parts: { dir: string; ca: (...args: string[]) => ReturnType<typeof cloud> }) => Promise<void>,
) {
  return () =>
    inFolder(async (folder) => {
      const dir = `${folder}/authority of mine`;
      const ca = (...args: string[]) => cloud("ca", ...args, "-ca-dir", dir);
      assert.equal((await ca("init")).code, 0);
      await test({ dir, ca });
    });
}

/** The part of what was printed from a line on, up to an empty line. */
function partFrom(text: string, heading: RegExp): string[] {
  const lines = text.split("\n");
  const from = lines.findIndex((line) => heading.test(line));
  assert.notEqual(from, -1, text);
  const to = lines.indexOf("", from);
  return lines.slice(from + 1, to === -1 ? undefined : to);
}

/** Flags as a shell would hand them on. */
function flagsOf(lines: string[]): Record<string, string> {
  return Object.fromEntries(lines.map((line) => {
    const [, name = "", quoted, plain = ""] = /^ {2}-(\S+) (?:'(.*)'|(\S+))(?: \\)?$/.exec(line) ?? [];
    return [name, quoted ?? plain];
  }));
}

Deno.test(
  "vbg-cloud ca init says what it has made and what comes next, and does it once",
  IN_PROCESS,
  () =>
    inFolder(async (folder) => {
      const dir = `${folder}/ca`;
      const { code, printed, complained } = await cloud("ca", "init", "-ca-dir", dir, "-days", "10", "-name", "Fleet");
      assert.deepEqual([code, complained], [0, ""]);
      for (const file of ["ca.pem", "ca-key.pem", "issued.json", "revoked.txt", "crl.pem"]) {
        assert.ok(printed.includes(`  ${dir}/${file} `), file);
        assert.ok((await Deno.stat(`${dir}/${file}`)).isFile);
      }
      assert.match(printed, /vbg-cloud ca issue -ca-dir \S+\/ca -host cloud\.example\.com/);
      const key = await Deno.readTextFile(`${dir}/ca-key.pem`);
      const again = await cloud("ca", "init", "-ca-dir", dir);
      const line = `vbg-cloud ca init: Cannot make an authority in "${dir}": "ca.pem" already exists`;
      assert.deepEqual([again.code, again.complained, again.printed], [2, line, ""]);
      assert.equal(await Deno.readTextFile(`${dir}/ca-key.pem`), key);
    }),
);

Deno.test(
  "the flags and configuration that are printed for a boat name what was made for it",
  IN_PROCESS,
  withAuthority(async ({ dir, ca }) => {
    assert.equal((await ca("issue", "-ip", "2001:db8::7")).code, 0);
    const { code, printed } = await ca("issue", "aurora");
    assert.equal(code, 0);
    const flags = flagsOf(partFrom(printed, /^Flags of the boat/));
    assert.equal(flags["replication-target"], "[2001:db8::7]:9443");
    assert.equal(flags["replication-instance-id"], "aurora");
    const check = await IdentityCheck.open(await Deno.readTextFile(flags["replication-tls-ca"]!));
    const cert = await Deno.readTextFile(flags["replication-tls-cert"]!);
    const identity = check.decide([cert], { nowMs: Date.now(), claimed: "aurora", isRevoked: () => false });
    assert.equal(identity.ok, true);
    assert.equal(flags["replication-tls-key"], `${dir}/boats/aurora/key.pem`);
    const config = await parseHocon(partFrom(printed, /^Add to .*vbg-boat\.conf/).join("\n"));
    const tls = {
      cert: "/etc/vbg/replication/cert.pem",
      key: "/etc/vbg/replication/key.pem",
      ca: "/etc/vbg/replication/ca.pem",
    };
    assert.deepEqual(config, { replication: { target: "[2001:db8::7]:9443", "instance-id": "aurora", tls } });
  }),
);

Deno.test(
  "the flags and configuration that are printed for the cloud name its files and the list of the revoked",
  IN_PROCESS,
  withAuthority(async ({ dir, ca }) => {
    const { code, printed } = await ca(
      "issue",
      "-host",
      "cloud.example.com",
      "-host",
      "*.example.org",
      "-ip",
      "192.0.2.1",
    );
    assert.equal(code, 0);
    assert.match(printed, /for the cloud at cloud\.example\.com \*\.example\.org 192\.0\.2\.1, valid until/);
    assert.deepEqual(flagsOf(partFrom(printed, /^Flags of the cloud/)), {
      "tls-cert": `${dir}/server/cert.pem`,
      "tls-key": `${dir}/server/key.pem`,
      "tls-client-ca": `${dir}/server/ca.pem`,
      "tls-revoked": `${dir}/revoked.txt`,
    });
    const config = await parseHocon(partFrom(printed, /^Add to .*vbg-cloud\.conf/).join("\n"));
    const at = (name: string) => `/etc/vbg/tls/${name}`;
    const tls = { cert: at("cert.pem"), key: at("key.pem"), "client-ca": at("ca.pem"), revoked: at("revoked.txt") };
    assert.deepEqual(config, { grpc: { tls } });
  }),
);

Deno.test(
  "a boat's next certificate comes with the command that revokes the earlier one, and that command does",
  IN_PROCESS,
  withAuthority(async ({ dir, ca }) => {
    await ca("issue", "aurora");
    const refused = await ca("issue", "aurora");
    assert.equal(refused.code, 2);
    assert.match(refused.complained, /cert\.pem": it already exists; -force overwrites it$/);
    const { printed } = await ca("issue", "aurora", "-force");
    const [, words = ""] = /^ {2}vbg-cloud ca revoke -ca-dir '.*' (.*)$/m.exec(printed) ?? [];
    const [boat = "", flag = "", serial = ""] = words.split(" ");
    assert.deepEqual([boat, flag], ["aurora", "-serial"]);
    const revoked = await ca("revoke", boat, flag, serial);
    assert.deepEqual([revoked.code, revoked.complained], [0, ""]);
    assert.match(revoked.printed, /^Revoked 1 certificate of "aurora":$/m);
    const list = await parseRevocations(await Deno.readTextFile(`${dir}/revoked.txt`), { authorities: "" });
    assert.deepEqual([...list], [serial]);
    assert.equal((await ca("revoke", "aurora", "-serial", serial)).code, 2);
    assert.equal((await ca("revoke", "aurora")).code, 0);
  }),
);

Deno.test(
  "a node's certificate comes with the flags that use it, and the command that revokes the earlier one",
  IN_PROCESS,
  withAuthority(async ({ dir, ca }) => {
    const issue = (...more: string[]) =>
      ca("issue", "-node", "n1", "-host", "n1.internal", "-ip", "127.0.0.1", ...more);
    assert.equal((await issue()).code, 0);
    const { code, printed } = await issue("-force");
    assert.equal(code, 0);
    const url = "https://n1.internal:9444";
    assert.deepEqual(flagsOf(partFrom(printed, /^Flags of the node/)), {
      "node-url": url,
      "node-cert": `${dir}/nodes/n1/cert.pem`,
      "node-key": `${dir}/nodes/n1/key.pem`,
    });
    const config = await parseHocon(partFrom(printed, /^Add to .*vbg-cloud\.conf/).join("\n"));
    assert.deepEqual(config, { node: { url, cert: "/etc/vbg/node/cert.pem", key: "/etc/vbg/node/key.pem" } });
    const [, words = ""] = /^ {2}vbg-cloud ca revoke -ca-dir '.*' (.*)$/m.exec(printed) ?? [];
    assert.match(words, /^-node n1 -serial [0-9a-f]{32}$/);
    const revoked = await ca("revoke", ...words.split(" "));
    assert.deepEqual([revoked.code, revoked.complained], [0, ""]);
    assert.equal((await ca("revoke", "n1")).code, 2);
    assert.equal((await ca("revoke", "-node", "n1")).code, 0);
    const states = (await ca("list", "-json")).printed.split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(states.map(({ name, kind, state }) => [name, kind, state]), [
      ["n1", "node", "revoked"],
      ["n1", "node", "revoked"],
    ]);
  }),
);

Deno.test(
  "vbg-cloud ca list shows every certificate with its state, for people and as JSON",
  IN_PROCESS,
  withAuthority(async ({ ca }) => {
    assert.equal((await ca("list")).printed, "No certificates yet");
    assert.equal((await ca("list", "-json")).printed, "");
    await ca("issue", "-host", "cloud.example.com");
    for (const boat of ["aurora", "borealis"]) await ca("issue", boat);
    await ca("revoke", "aurora");
    const [head, ...rows] = (await ca("list")).printed.split("\n");
    assert.match(head ?? "", /^SERIAL +ENDS +STATE +KIND +NAME$/);
    const states = rows.map((row) => row.replace(/^\S+ +\S+ +/, "").replace(/\d{4}-\d\d-\d\d/, "DAY").split(/ {2,}/));
    assert.deepEqual(states, [["good", "server", "cloud.example.com"], ["revoked DAY", "boat", "aurora"], [
      "good",
      "boat",
      "borealis",
    ]]);
    const lines = (await ca("list", "-json")).printed.split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ name, kind, state }) => [name, kind, state]), [
      ["cloud.example.com", "server", "good"],
      ["aurora", "boat", "revoked"],
      ["borealis", "boat", "good"],
    ]);
    assert.match(lines[0].serial, /^[0-9a-f]{32}$/);
  }),
);

Deno.test(
  "wrong use is code 2 with one line that says what is wrong, and changes nothing",
  IN_PROCESS,
  withAuthority(async ({ dir, ca }) => {
    const cases: [words: string[], line: RegExp][] = [
      [
        ["issue"],
        /^vbg-cloud ca issue: Missing boat: .* found 0; -host or -ip create the cloud's .*\n\nUsage: /,
      ],
      [["issue", "a", "b"], /^vbg-cloud ca issue: Missing boat: .* found 2;/],
      [["issue", "a", "-host", "b"], /^vbg-cloud ca issue: Unexpected argument "a": -host and -ip create the cloud's/],
      [
        ["issue", "a", "-node", "b"],
        /^vbg-cloud ca issue: Unexpected argument "a": .* with -node a node's, not a boat's/,
      ],
      [["issue", "-node", "n1"], /^vbg-cloud ca issue: Cannot make a server's certificate without a host name/],
      [["issue", "-node", "../a", "-ip", "::1"], /^vbg-cloud ca issue: Cannot use "\.\.\/a" as the name of a node: /],
      [["revoke", "a", "-node", "b"], /^vbg-cloud ca revoke: Unexpected argument "a": -node revokes/],
      [["revoke", "-node", "b"], /^vbg-cloud ca revoke: Cannot revoke "b": .* no such certificate of a node/],
      [["issue", "../a"], /^vbg-cloud ca issue: Cannot use "\.\.\/a" as an instance id: expected 1 to 64 letters/],
      [
        ["issue", "-host", "192.0.2.1"],
        /^vbg-cloud ca issue: flag -host: "192\.0\.2\.1" is an IP address: use -ip 192\.0\.2\.1\n/,
      ],
      [["issue", "-ip", "boat"], /^vbg-cloud ca issue: flag -ip: Cannot read the IP address "boat"/],
      [["issue", "a", "-days", "0"], /^vbg-cloud ca issue: flag -days: Cannot read the number "0"/],
      [["issue", "a", "-hots", "b"], /^vbg-cloud ca issue: Unknown flag -hots: did you mean -host\?/],
      [["revoke"], /^vbg-cloud ca revoke: Missing boat: .* found 0\n/],
      [
        ["revoke", "nobody"],
        /^vbg-cloud ca revoke: Cannot revoke "nobody": this authority has issued no such certificate of a boat; "vbg-cloud ca list" shows them/,
      ],
      [["list", "a"], /^vbg-cloud ca list: Unexpected argument "a"/],
      [["init", "-name", ""], /^vbg-cloud ca init: flag -name: Cannot use the common name/],
      [["revok"], /^vbg-cloud ca: Unknown command "revok": did you mean revoke\?/],
    ];
    const record = await Deno.readTextFile(`${dir}/issued.json`);
    for (const [words, line] of cases) {
      const { code, printed, complained } = await ca(...words);
      assert.deepEqual([code, printed], [2, ""], complained);
      assert.match(complained, line);
    }
    assert.equal(await Deno.readTextFile(`${dir}/issued.json`), record);
    for (const words of [["issue", "aurora"], ["revoke", "aurora"], ["list"]]) {
      const missing = await cloud("ca", ...words, "-ca-dir", `${dir}/none`);
      assert.equal(missing.code, 2);
      assert.match(
        missing.complained,
        /Cannot find an authority in ".*none": there is no ".*"; create one with vbg-cloud ca init/,
      );
    }
    await assert.rejects(Deno.stat(`${dir}/none`), Deno.errors.NotFound);
  }),
);

Deno.test("what the machine refuses is code 1", IN_PROCESS, () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const { code, complained } = await cloud("ca", "init", "-ca-dir", `${folder}/file`);
    assert.equal(code, 1);
    assert.match(complained, /^vbg-cloud ca init: Cannot use the directory of the authority ".*file": /);
  }));

Deno.test("help lists the commands at every level, and nothing but a command is code 2", IN_PROCESS, async () => {
  for (const word of ["-h", "--help", "help"]) {
    const top = await cloud(word);
    assert.equal(top.code, 0);
    assert.match(
      top.printed,
      /^vbg-cloud: .*\n\nUsage: vbg-cloud \[COMMAND\] \[flags\] \.\.\.\n\n {2}ca {12}certificates/,
    );
    const nested = await cloud("ca", word);
    assert.equal(nested.code, 0);
    assert.deepEqual([...nested.printed.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name), [
      "init",
      "issue",
      "revoke",
      "list",
    ]);
  }
  for (const name of ["init", "issue", "revoke", "list"]) {
    const { code, printed } = await cloud("ca", name, "--help");
    assert.equal(code, 0);
    assert.match(printed, new RegExp(`^vbg-cloud ca ${name}: (?:.+\n)+\nUsage: vbg-cloud ca ${name} \\[flags\\]`));
    assert.match(printed, /-ca-dir DIR/);
  }
  assert.match((await cloud("--version")).printed, /^vbg-cloud \d/);
  for (const words of [[], ["ca"]]) {
    const { code, printed, complained } = await cloud(...words);
    assert.deepEqual([code, printed], [2, ""]);
    assert.match(complained, /^vbg-cloud/);
  }
});

Deno.test(
  "the program itself makes an authority in the folder where it runs",
  CHILDREN,
  () =>
    inFolder(async (folder) => {
      const run = async (...args: string[]) => {
        const words = { args: taskArgs("cloud", "ca", ...args), cwd: folder };
        const { code, stdout } = await new Deno.Command(Deno.execPath(), words).output();
        return { code, text: new TextDecoder().decode(stdout) };
      };
      assert.equal((await run("init")).code, 0);
      const { code, text } = await run("issue", "aurora");
      assert.equal(code, 0);
      assert.match(text, /^ {2}-replication-tls-key vbg-ca\/boats\/aurora\/key\.pem/m);
      assert.match(text, /^ {2}-replication-target cloud\.example\.com:9443/m);
      assert.equal((await Deno.stat(`${folder}/vbg-ca/boats/aurora/key.pem`)).mode! & 0o777, 0o600);
    }),
);
