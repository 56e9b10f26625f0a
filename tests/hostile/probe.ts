// Looks at a server from a process of its own: probe.ts URL PID. Every 50 ms it asks for /livez over a new connection and
// reads the memory of the process, until a line comes on standard input; then it prints what it has seen.
const PERIOD_MS = 50;
/** An answer that takes longer does not come. */
const PATIENCE_MS = 30_000;

const [url = "", pid = ""] = Deno.args;
const { hostname, port, host } = new URL(url);
const latencies: number[] = [];
let failed = 0;
let rssMaxKb = 0;
let isStopped = false;
void Deno.stdin.readable.getReader().read().then(() => isStopped = true);
console.log("ready");
const asked: Promise<void>[] = [];
for (let dueMs = performance.now(); !isStopped; dueMs += PERIOD_MS) {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
  rssMaxKb = Math.max(rssMaxKb, rssKb());
  // Each when it is due, whatever the others wait for: so a server that is slow hides nothing.
  const startMs = performance.now();
  asked.push(
    ask().then((isAlive) => {
      if (isAlive) latencies.push(performance.now() - startMs);
      else failed++;
    }),
  );
}
await Promise.all(asked);
latencies.sort((a, b) => a - b);
const at = (part: number) => Math.ceil(latencies[Math.ceil(latencies.length * part) - 1] ?? 0);
const answer = { samples: latencies.length, livezFailed: failed, livezP99Ms: at(0.99), livezMaxMs: at(1) };
console.log(JSON.stringify({ ...answer, rssMaxMb: Math.ceil(rssMaxKb / 1024) }));
Deno.exit(0);

/** Whether the server says that it lives. */
async function ask(): Promise<boolean> {
  let connection: Deno.TcpConn | undefined;
  const timer = setTimeout(() => connection?.close(), PATIENCE_MS);
  try {
    connection = await Deno.connect({ hostname, port: Number(port) });
    const request = `GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    const buffer = new Uint8Array(64);
    const length = await connection.read(buffer) ?? 0;
    return new TextDecoder().decode(buffer.subarray(0, length)).startsWith("HTTP/1.1 200");
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    try {
      connection?.close();
    } catch {
      // The timer was faster.
    }
  }
}

/** Resident memory; 0 when the process has gone. */
function rssKb(): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
