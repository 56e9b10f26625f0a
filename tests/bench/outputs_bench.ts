import { freePort } from "../support/held_port.ts";
import { startDrains } from "./drains.ts";
import { report } from "./figure.ts";
import { type BenchProcess, cpuMs, sleep, startProcess } from "./process.ts";

const MESSAGES_PER_SECOND = 2000;
const WARM_UP_MS = 4000;
/** The drains answer no ping: after 30 s they would be disconnected. */
const MEASURE_MS = 15_000;

/** Share of a core that a process uses, in per cent. */
async function cpuOf(pid: number): Promise<number> {
  const before = cpuMs(pid);
  const start = performance.now();
  await sleep(MEASURE_MS);
  return (cpuMs(pid) - before) / (performance.now() - start) * 100;
}

/** CPU of a boat with 1 and with 100 clients of Signal K, beyond that of the same boat without one. */
export async function signalkBench(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  const server = await startProcess("page_server.ts", [directory, String(MESSAGES_PER_SECOND)]);
  try {
    await sleep(WARM_UP_MS);
    const alone = await cpuOf(server.pid);
    report({
      name: `${MESSAGES_PER_SECOND} messages/s, journal, no client: server`,
      value: alone,
      unit: "% of a core",
    });
    await measure(server, { clients: 1, alone });
    await measure(server, { clients: 100, alone, bar: "<= 25" });
  } finally {
    await server.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Reads and counts what a server sends. */
async function drain(port: string): Promise<{ bytes: () => number; close: () => void }> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  let bytes = 0;
  const read = async () => {
    for await (const piece of connection.readable) bytes += piece.length;
  };
  read().catch(() => {});
  return { bytes: () => bytes, close: () => connection.close() };
}

/** CPU of a boat with one client of each output, beyond that of the same boat with outputs that nobody uses. */
export async function outputsBench(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  const ports = [String(freePort()), String(freePort())] as const;
  const server = await startProcess("page_server.ts", [directory, String(MESSAGES_PER_SECOND), ...ports]);
  try {
    await sleep(WARM_UP_MS);
    const alone = await cpuOf(server.pid);
    report({
      name: `${MESSAGES_PER_SECOND} messages/s, outputs without clients: server`,
      value: alone,
      unit: "% of a core",
    });
    const clients = await Promise.all(ports.map(drain));
    const drains = await startDrains(Number(server.line), {
      path: "/signalk/v1/stream?subscribe=self",
      isElsewhere: true,
    });
    await drains.open(1);
    await sleep(WARM_UP_MS);
    const before = clients.map(({ bytes }) => bytes());
    await drains.take();
    const value = await cpuOf(server.pid) - alone;
    const name = `${MESSAGES_PER_SECOND} messages/s to a client each of Signal K, gateway and NMEA 0183`;
    report({ name: `${name}: server, beyond none`, value, unit: "% of a core", bar: "<= 15" });
    const received = [
      (await drains.take()).bytes,
      ...clients.map(({ bytes }, index) => bytes() - (before[index] ?? 0)),
    ];
    if (received.some((bytes) => bytes === 0)) throw new Error("Cannot measure: a client got nothing");
    for (const client of clients) client.close();
    await drains.close();
  } finally {
    await server.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

async function measure(
  { pid, line: port }: BenchProcess,
  { clients, alone, bar }: { clients: number; alone: number; bar?: string },
): Promise<void> {
  const drains = await startDrains(Number(port), { path: "/signalk/v1/stream?subscribe=self", isElsewhere: true });
  try {
    await drains.open(clients);
    await sleep(WARM_UP_MS);
    await drains.take();
    const name = `${MESSAGES_PER_SECOND} messages/s to ${clients} clients of Signal K`;
    const value = await cpuOf(pid) - alone;
    const { bytes, fewest, ended } = await drains.take();
    if (ended > 0) throw new Error("Cannot measure: streams were ended");
    report({ name: `${name}: server, beyond none`, value, unit: "% of a core", ...(bar !== undefined && { bar }) });
    report({
      name: `${name}: fewest bytes of a client`,
      value: fewest / (bytes / clients) * 100,
      unit: "% of the mean",
    });
    report({ name: `${name}: bytes`, value: bytes / clients / MEASURE_MS, unit: "kB/s each" });
  } finally {
    await drains.close();
  }
}
