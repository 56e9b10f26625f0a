import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { allowed, needs, SLOW } from "../support/needs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SCRIPT = "scripts/vcan.ts";
/** Tests that need a bus. Their names do not end in _test, so that a plain `deno test` leaves them to this file. */
const FOLDER = "tests/vcan";
/** Many times what it takes: only what hangs is ended. */
const TIMEOUT_S = 1800;

const options = needs({
  permissions: ["run", "read", "write", "env", "ffi"],
  programs: ["ip", "cansend", "cangen", ...(kernelHasVcan() ? [] : ["linux.uml", "insmod"])],
  extras: kernelHasVcan() ? {} : SLOW,
});

/** Whether this machine has the buses or, as far as one can see, its kernel can make them. */
function kernelHasVcan(): boolean {
  if (!allowed("read") || !allowed("sys")) return false;
  const module = `/lib/modules/${Deno.osRelease()}/kernel/drivers/net/can/vcan.ko`;
  return ["/sys/class/net/vcan0", module, `${module}.xz`, `${module}.zst`].some(exists);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

async function runOnVcan(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--cached-only", "-A", SCRIPT, `--timeout-s=${TIMEOUT_S}`, "--", ...args],
    cwd: ROOT,
    stdin: "null",
    env: { NO_COLOR: "1" },
  });
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

Deno.test(
  "vcan runs a command with two buses up and passes its streams, its surroundings and its status",
  options,
  async () => {
    const script =
      'for i in vcan0 vcan1; do echo $i $(($(cat /sys/class/net/$i/flags) & 1)); done; pwd; echo "cache $DENO_DIR"; echo "it\'s $1" >&2; exit 7';
    const { code, out, err } = await runOnVcan("sh", "-c", script, "sh", "a.b c");
    const [, before, cache = ""] = /^(.*)cache (.*)\n$/s.exec(out) ?? [];
    assert.equal(before, `vcan0 1\nvcan1 1\n${ROOT.replace(/\/$/, "")}\n`);
    // Two kernels that use the same databases do not see each other's locks.
    if (!kernelHasVcan()) assert.ok(cache !== "" && !exists(cache), `the cache of Deno is its own: ${cache}`);
    assert.equal(err, "it's a.b c\n");
    assert.equal(code, 7);
  },
);

Deno.test("every test that needs a bus passes", options, async () => {
  const files = [...Deno.readDirSync(`${ROOT}/${FOLDER}`)].filter((entry) => entry.name.endsWith(".ts"))
    .map((entry) => `${FOLDER}/${entry.name}`).sort();
  const { code, out, err } = await runOnVcan(Deno.execPath(), "test", "-A", "--no-check", "--cached-only", ...files);
  // deno-lint-ignore no-console -- the report of the tests inside
  console.log(out);
  assert.equal(code, 0, err);
});
