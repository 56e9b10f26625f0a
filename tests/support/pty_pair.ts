import { until } from "../contract/recorder.ts";

/** A serial device whose other end is in our hands. */
export interface PtyPair {
  /** Path of the device. */
  device: string;
  /** Says something at the other end. */
  say: (bytes: Uint8Array) => void;
  /** Unplugs it. */
  stop: () => Promise<void>;
}

/**
 * Makes a serial device with socat.
 *
 * @param onBytes gets what is written to the device
 */
export async function startPtyPair(
  onBytes: (bytes: Uint8Array, say: (bytes: Uint8Array) => void) => void,
): Promise<PtyPair> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_pty_" });
  const device = `${folder}/tty`;
  const socat = new Deno.Command("socat", {
    args: [`pty,raw,echo=0,link=${device}`, "-"],
    ...{ stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  await until("the device is there", () => exists(device));
  // As long as somebody has it open, socat does not take a closing for the end.
  const held = await Deno.open(device, { read: true });
  const writer = socat.stdin.getWriter();
  const say = (bytes: Uint8Array) => void writer.write(bytes.slice()).catch(() => {});
  const reading = (async () => {
    for await (const bytes of socat.stdout) onBytes(bytes, say);
  })();
  return {
    device,
    say,
    stop: async () => {
      held.close();
      try {
        socat.kill("SIGTERM");
      } catch {
        // It has ended by itself.
      }
      await writer.close().catch(() => {});
      await Promise.all([socat.status, reading]);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

function exists(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSymlink;
  } catch {
    return false;
  }
}
