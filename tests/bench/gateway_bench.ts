import { constants, setPriority } from "node:os";
import { report } from "./figure.ts";
import { cpuMs, rssMb, sleep, startProcess } from "./process.ts";

const FRAMES_PER_SECOND = 2000;
const SECONDS = 15;
const WARM_UP_MS = 3000;
const MEASURE_MS = 10_000;

/** What the clients have read, when all frames were sent. */
interface Result {
  /** Different contents among the clients. */
  contents: number;
  /** Frames of the first client, in order and byte-equal to what was fed. */
  right: number;
}

/** CPU of the gateway server with so many clients at a full bus; each of them must read every byte. */
export async function gatewayBench(): Promise<void> {
  for (const [clients, bar] of [[1, "<= 8"], [200, "<= 25"]] as const) {
    const frames = FRAMES_PER_SECOND * SECONDS;
    const server = await startProcess("gateway_server.ts", [FRAMES_PER_SECOND, frames, clients].map(String));
    const readers = await startProcess("gateway_readers.ts", [server.line, frames, clients].map(String));
    // Clients elsewhere on the network take no CPU from the server.
    setPriority(readers.pid, constants.priority.PRIORITY_LOW);
    await sleep(WARM_UP_MS);
    const before = cpuMs(server.pid);
    await sleep(MEASURE_MS);
    const cpu = (cpuMs(server.pid) - before) / MEASURE_MS * 100;
    const title = `${FRAMES_PER_SECOND} frames/s to ${clients} clients of the gateway server`;
    report({ name: `${title}: CPU`, value: cpu, unit: "% of a core", bar });
    report({ name: `${title}: memory`, value: rssMb(server.pid), unit: "MB" });
    const result: Result = await (await fetch(`http://127.0.0.1:${readers.line}/`)).json();
    report({ name: `${title}: different contents`, value: result.contents, unit: "contents", bar: "= 1" });
    report({ name: `${title}: frames byte-equal`, value: result.right, unit: "frames", bar: `= ${frames}` });
    await readers.stop();
    await server.stop();
  }
  await idleBench();
}

/** The same bus without clients, to compare with. */
async function idleBench(): Promise<void> {
  const server = await startProcess(
    "gateway_server.ts",
    [FRAMES_PER_SECOND, FRAMES_PER_SECOND * SECONDS, 0].map(String),
  );
  await sleep(WARM_UP_MS);
  const before = cpuMs(server.pid);
  await sleep(MEASURE_MS);
  const cpu = (cpuMs(server.pid) - before) / MEASURE_MS * 100;
  report({
    name: `${FRAMES_PER_SECOND} frames/s without clients of the gateway server: CPU`,
    value: cpu,
    unit: "% of a core",
  });
  await server.stop();
}
