// A gateway that feeds a boat, in a process of its own: feeder.ts RATE FEEDER. Prints its port, feeds whoever connects RATE frames a
// second until a line comes on standard input, prints how many it has sent, and ends with standard input.
import { fedData, fedId } from "./fed_frame.ts";

const TICK_MS = 10;
/** Frames in one write: what is due after the process stood still is sent in pieces. */
const MAX_WRITE_FRAMES = 500;

const [perSecond = 0, feeder = 0] = Deno.args.map(Number);
using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ port: listener.addr.port }));
const input = Deno.stdin.readable.getReader();
let isStopped = false;
void input.read().then(() => isStopped = true);
using connection = await listener.accept();
void discard(connection);
const startMs = performance.now();
let fed = 0;
while (!isStopped) {
  const due = Math.floor((performance.now() - startMs) * perSecond / 1000);
  const until = Math.min(due, fed + MAX_WRITE_FRAMES);
  await writeAll(connection, new TextEncoder().encode(linesOf(fed, until)));
  fed = until;
  if (fed === due) await new Promise((resolve) => setTimeout(resolve, TICK_MS));
}
console.log(JSON.stringify({ fed }));
// The boat reads what is on its way.
while (!(await input.read()).done);
Deno.exit(0);

/** Frames as a Yacht Devices gateway writes them. */
function linesOf(from: number, until: number): string {
  const time = new Date().toISOString().slice(11, 23);
  let text = "";
  for (let i = from; i < until; i++) text += `${time} R ${fedId(feeder)} ${fedData(i).match(/../g)?.join(" ")}\r\n`;
  return text;
}

/** Without the boat the count would be worth nothing: who waits for it sees the end. */
async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  try {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  } catch {
    Deno.exit(1);
  }
}

async function discard(connection: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(4096);
  while (await connection.read(buffer).catch(() => null) !== null);
}
