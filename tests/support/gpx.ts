import { environment, needs } from "./needs.ts";

const PYTHON = environment("VBG_TEST_PYTHON");
/** Tests with gpxpy: VBG_TEST_PYTHON names a Python that has it. */
export const GPXPY: { ignore: boolean } = needs({
  permissions: ["run", "read", "env"],
  others: { "gpxpy (VBG_TEST_PYTHON)": PYTHON !== undefined },
});

/** Tracks of a GPX file: positions and times of each segment, degrees and milliseconds since 1970. */
export interface ReadGpx {
  creator: string;
  tracks: { name: string; segments: [latitude: number, longitude: number, timeMs: number][][] }[];
}

/** Reads GPX with gpxpy. @throws {Error} it is refused */
export async function readGpx(text: string): Promise<ReadGpx> {
  const script = new URL("gpx_oracle.py", import.meta.url).pathname;
  const child = new Deno.Command(PYTHON ?? "python3", {
    args: [script],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text)).catch(() => {});
  await writer.close().catch(() => {});
  const { success, stdout, stderr } = await output;
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}
