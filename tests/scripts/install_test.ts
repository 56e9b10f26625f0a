import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { writeSums } from "../../scripts/release/sums.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const NEEDS = needs({
  permissions: ["env", "write", "net", "sys"],
  programs: ["sh", "curl", "sha256sum", "mktemp", "grep", "uname"],
});
const SCRIPT = fileURLToPath(new URL("../../scripts/install.sh", import.meta.url));
const { target } = Deno.build;

/** A release behind a web server, and an empty place to install to. */
interface Trial {
  url: string;
  release: string;
  to: string;
}

async function withRelease(test: (trial: Trial) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const release = `${folder}/release`;
    await Deno.mkdir(release);
    for (const program of ["vbg", "vbg-boat", "vbg-cloud"]) {
      for (const system of [target, "sparc-unknown-solaris"]) {
        await Deno.writeTextFile(`${release}/${program}-1.2.3-${system}`, `#!/bin/sh\necho ${program} ${system}\n`);
      }
    }
    await writeSums(release);
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
      const name = new URL(request.url).pathname;
      const file = await Deno.readFile(release + name).catch(() => undefined);
      return file === undefined ? new Response("not here", { status: 404 }) : new Response(file);
    });
    await test({ url: `http://127.0.0.1:${server.addr.port}`, release, to: `${folder}/a place/bin` });
  });
}

async function install(args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command("sh", { args: [SCRIPT, ...args] }).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** What is installed; nothing when there is no such place. */
function installed(to: string): string[] {
  try {
    return [...Deno.readDirSync(to)].map(({ name }) => name).sort();
  } catch {
    return [];
  }
}

Deno.test("programs of a release are installed from the net for this system, and run", NEEDS, async () => {
  await withRelease(async ({ url, to }) => {
    const { code, stdout, stderr } = await install(["-from", url, "-to", to, "vbg", "vbg-boat"]);
    assert.deepEqual([code, stdout, stderr], [0, `installed ${to}/vbg\ninstalled ${to}/vbg-boat\n`, ""]);
    assert.deepEqual(installed(to), ["vbg", "vbg-boat"]);
    const { stdout: told } = await new Deno.Command(`${to}/vbg-boat`).output();
    assert.equal(new TextDecoder().decode(told), `vbg-boat ${target}\n`);
  });
});

Deno.test("a release is installed from a directory, too, and takes the place of an older one", NEEDS, async () => {
  await withRelease(async ({ release, to }) => {
    await Deno.mkdir(to, { recursive: true });
    await Deno.writeTextFile(`${to}/vbg`, "older");
    assert.equal((await install(["-from", release, "-to", to])).code, 0);
    assert.match(await Deno.readTextFile(`${to}/vbg`), /^#!/);
    assert.deepEqual(installed(to), ["vbg"]);
  });
});

Deno.test("a file that is not the release's is refused, and nothing at all is installed", NEEDS, async () => {
  await withRelease(async ({ url, release, to }) => {
    await Deno.writeTextFile(`${release}/vbg-boat-1.2.3-${target}`, "#!/bin/sh\necho somebody else's\n");
    const { code, stderr } = await install(["-from", url, "-to", to, "vbg", "vbg-boat"]);
    assert.equal(code, 1);
    assert.equal(stderr, "install: The file of vbg-boat is damaged or not the release's: nothing was installed\n");
    assert.deepEqual(installed(to), []);
  });
});

Deno.test("what a release does not have, or tells twice, is refused", NEEDS, async () => {
  await withRelease(async ({ url, release, to }) => {
    await Deno.remove(`${release}/vbg-cloud-1.2.3-${target}`);
    const gone = await install(["-from", url, "-to", to, "vbg-cloud"]);
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /install: Cannot get "http:.*vbg-cloud-1\.2\.3-/);
    await writeSums(release);
    const unknown = await install(["-from", url, "-to", to, "vbg-cloud"]);
    assert.deepEqual([unknown.code, unknown.stderr], [1, `install: The release has no vbg-cloud for ${target}\n`]);
    await Deno.copyFile(`${release}/vbg-1.2.3-${target}`, `${release}/vbg-1.2.4-${target}`);
    await writeSums(release);
    const twice = await install(["-from", url, "-to", to]);
    assert.deepEqual([twice.code, twice.stderr], [1, `install: The release has several vbg for ${target}\n`]);
    await Deno.remove(`${release}/SHA256SUMS`);
    assert.equal((await install(["-from", url, "-to", to])).code, 1);
    assert.deepEqual(installed(to), []);
  });
});

Deno.test("wrong words are refused before anything is fetched", NEEDS, async () => {
  const wrong: [string[], RegExp][] = [
    [[], /Missing -from/],
    [["-from"], /Missing value of -from/],
    [["-from", "http://127.0.0.1:1", "vgb"], /Unknown word "vgb"/],
    [["-from", "/nowhere", "-to", "/proc/nowhere"], /Cannot write to "\/proc\/nowhere"/],
  ];
  for (const [args, why] of wrong) {
    const { code, stderr } = await install(args);
    assert.equal(code, 1);
    assert.match(stderr, why);
  }
});
