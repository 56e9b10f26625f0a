/** What socat logs after it has configured the device. Before that, it would undo the settings of who opens it. */
const CONFIGURED = "starting data transfer loop";

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
    args: ["-d", "-d", `pty,raw,echo=0,link=${device}`, "-"],
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
  }).spawn();
  const configured = Promise.withResolvers<void>();
  const logging = (async () => {
    let log = "";
    for await (const text of socat.stderr.pipeThrough(new TextDecoderStream())) {
      log += text;
      if (log.includes(CONFIGURED)) configured.resolve();
    }
    configured.reject(new Error(`socat ended: ${log}`));
  })();
  await configured.promise;
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
      await Promise.all([socat.status, reading, logging]);
      await Deno.remove(folder, { recursive: true });
    },
  };
}
