import { basename } from "node:path";
import { VERSION } from "../../src/version.ts";
import { type Program, PROGRAMS } from "../programs.ts";
import { runProgram } from "../script.ts";

/** Parts of a payload. */
export interface PayloadOptions {
  /** Path of the runtime. */
  runtime: string;
  /** Folder written by `makeBundle`. */
  bundle: string;
  /** Level of gzip, 1 (fast) to 9 (small). */
  level: number;
}

/** The archive that a program unpacks; all programs share one. */
export interface Payload {
  bytes: Uint8Array;
  /** Unique name of the folder into which it is unpacked. */
  name: string;
}

const STUB = new URL("./portable.sh", import.meta.url);
/** Digits of the digest in the name of a payload. */
const DIGEST_DIGITS = 16;

/** Packs runtime and bundle. Reproducible: the same parts give the same bytes. */
export async function makePayload({ runtime, bundle, level }: PayloadOptions): Promise<Payload> {
  const stage = await Deno.makeTempDir({ prefix: "vbg_payload_" });
  try {
    await runProgram("cp", ["-RL", bundle, `${stage}/bundle`]);
    await Deno.copyFile(runtime, `${stage}/deno`);
    await Deno.chmod(`${stage}/deno`, 0o755);
    const reproducible = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX"];
    await runProgram("tar", ["-C", stage, ...reproducible, "-cf", `${stage}.tar`, "deno", "bundle"]);
    await runProgram("gzip", ["-n", `-${level}`, `${stage}.tar`]);
    const bytes = await Deno.readFile(`${stage}.tar.gz`);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    return { bytes, name: `${VERSION}-${digest.slice(0, DIGEST_DIGITS)}` };
  } finally {
    await Deno.remove(stage, { recursive: true });
    for (const packed of [`${stage}.tar`, `${stage}.tar.gz`]) await Deno.remove(packed).catch(() => {});
  }
}

/**
 * Writes a program as one self-extracting file: a short shell script followed by the payload.
 *
 * @param target the system, such as `x86_64-unknown-linux-gnu`; shown at the beginning of the file
 */
export async function writePortable(
  path: string,
  { program, payload, target }: { program: Program; payload: Payload; target: string },
): Promise<void> {
  const stub = await makeStub({ program, payload: payload.name, target });
  const file = new Uint8Array(stub.length + payload.bytes.length);
  file.set(stub);
  file.set(payload.bytes, stub.length);
  await Deno.writeFile(path, file, { mode: 0o755 });
  await Deno.chmod(path, 0o755);
}

/** The script at the beginning of the file. It contains its own length. */
async function makeStub(
  { program, payload, target }: { program: Program; payload: string; target: string },
): Promise<Uint8Array> {
  const flags = program.runtimeFlags.map((flag) => `${flag} `).join("");
  const words: Record<string, string> = {
    NAME: program.name,
    VERSION,
    TARGET: target,
    PAYLOAD: payload,
    MAIN: `${basename(program.file, ".ts")}.js`,
    PERMISSIONS: program.permissions.join(" "),
    FLAGS: flags,
  };
  const text = (await Deno.readTextFile(STUB)).replace(/@([A-Z]+)@/g, (mark, word: string) => words[word] ?? mark);
  const mark = "@START@";
  // `tail` counts from 1. The number is padded to the width of its mark.
  const start = new TextEncoder().encode(text).length + 1;
  return new TextEncoder().encode(text.replace(mark, String(start).padEnd(mark.length)));
}

/** Writes the portable files of all programs into `out`. Returns their paths. */
export async function writeAllPortable(out: string, options: PayloadOptions & { target: string }): Promise<string[]> {
  const payload = await makePayload(options);
  const paths: string[] = [];
  for (const program of PROGRAMS) {
    const path = `${out}/${program.name}-${VERSION}-${options.target}`;
    await writePortable(path, { program, payload, target: options.target });
    paths.push(path);
  }
  return paths;
}
