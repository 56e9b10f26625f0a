/**
 * Lists the source files that execute for one frame, and for one request for history: `deno task walks`.
 *
 * The programs run with V8's precise coverage. After a warm-up, each measurement counts the functions called between a
 * frame's (or a request's) start and its arrival at the client. Only files that execute in all of several measurements
 * are listed: timers that fall into one of them are not part of the path.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { runProgram, runScript, scriptArgs } from "./script.ts";
import { InspectedProgram } from "./walks/inspected.ts";

const MEASUREMENTS = 10;
const WARM_UP_FRAMES = 300;
const WARM_UP_PAUSE_MS = 10;
/** Time for address claims, discovery and the first connection to the cloud. */
const SETTLE_MS = 5000;
/** Longest pause between two measurements; random, so that no timer is part of all measurements. */
const PAUSE_MS = 1000;
const POLL_MS = 100;
/** Time for the servers to return from the calls that wrote to the client. */
const RETURN_MS = 20;
const ARRIVAL_MS = 30_000;
const BOAT = "aurora";
const HOST = "127.0.0.1";

/** A checkout to be measured, and a folder for its state. */
interface Setup {
  root: URL;
  folder: string;
}

/** Files that execute on one path, by path. */
type Path = readonly string[];

/** A Yacht Devices gateway that sends one frame at a time to a boat. */
class Gateway implements Disposable {
  readonly #listener = Deno.listen({ hostname: HOST, port: 0 });
  readonly #connection: Promise<Deno.TcpConn> = this.#listener.accept();
  #sent = 0;

  /** The boat's `-interface`. */
  get source(): string {
    return `tcp://${HOST}:${this.#listener.addr.port}?name=gw0#ydwg`;
  }

  /** Sends a vessel heading (PGN 127250) with the next number as its heading. Returns its payload as hex. */
  async send(): Promise<string> {
    const heading = (++this.#sent % 60_000).toString(16).padStart(4, "0");
    const data = `ff ${heading.slice(2)} ${heading.slice(0, 2)} ff 7f ff 7f fd`;
    const line = `${new Date().toISOString().slice(11, 23)} R 09F11223 ${data.toUpperCase()}\r\n`;
    await (await this.#connection).write(new TextEncoder().encode(line));
    return data.replaceAll(" ", "");
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    void this.#connection.then((connection) => connection.close());
  }
}

/** A client of a server's event stream. */
class Reader implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  private constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Repeats the request until the server knows the boat. */
  static async open(url: string, client?: Deno.HttpClient): Promise<Reader> {
    for (const endMs = performance.now() + ARRIVAL_MS;; await pause(POLL_MS)) {
      const reply = await fetch(url, client && { client });
      if (reply.ok && reply.body) return new Reader(reply.body);
      await reply.body?.cancel();
      if (performance.now() > endMs) throw new Error(`${url}: ${reply.status}`);
    }
  }

  /** Waits until a frame with this payload has arrived. */
  async receive(data: string): Promise<void> {
    const late = setTimeout(() => void this.#reader.cancel(), ARRIVAL_MS);
    while (!this.#text.toLowerCase().includes(data)) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error(`The frame ${data} has not arrived`);
      this.#text = this.#text.slice(-200) + value;
    }
    clearTimeout(late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function flagsOf(args: Record<string, string>): string[] {
  return Object.entries(args).flatMap(([name, value]) => [`-${name}`, value]);
}

/** Starts a boat whose bus is the gateway. */
async function startBoat(
  { root, folder }: Setup,
  gateway: Gateway,
  args: Record<string, string>,
): Promise<{ boat: InspectedProgram; url: string }> {
  const own = { "interface": gateway.source, listen: `${HOST}:0`, "state-dir": `${folder}/boat` };
  const boat = await InspectedProgram.start("boat", {
    root,
    folder,
    args: ["-mdns=false", ...flagsOf({ ...own, ...args })],
  });
  const [, url = ""] = await boat.logged(/"url":"([^"]+)"/);
  return { boat, url };
}

/** The files that execute in all measurements of `act`. */
async function measure(programs: readonly InspectedProgram[], act: () => Promise<void>): Promise<Path> {
  let common: Set<string> | undefined;
  for (let i = 0; i < MEASUREMENTS; i++) {
    await pause(PAUSE_MS * Math.random());
    for (const program of programs) await program.executed();
    await act();
    await pause(RETURN_MS);
    let executed = new Set<string>();
    for (const program of programs) executed = executed.union(await program.executed());
    common = common?.intersection(executed) ?? executed;
  }
  return [...common ?? []].sort();
}

async function warmUp(gateway: Gateway, reader: Reader): Promise<void> {
  let last = "";
  for (let i = 0; i < WARM_UP_FRAMES; i++) {
    last = await gateway.send();
    await pause(WARM_UP_PAUSE_MS);
  }
  await reader.receive(last);
  await pause(SETTLE_MS);
}

/** Gateway → boat → event stream; and a request for history at the same boat. */
async function measureBoat(setup: Setup): Promise<Record<string, Path>> {
  using gateway = new Gateway();
  const { boat, url } = await startBoat(setup, gateway, {});
  await using _boat = boat;
  await using reader = await Reader.open(`${url}/events`);
  await warmUp(gateway, reader);
  const stream = await measure([boat], async () => await reader.receive(await gateway.send()));
  return { "socket to event stream": stream };
}

/** One request for history at a boat with a journal. */
async function measureHistory(setup: Setup): Promise<Record<string, Path>> {
  using gateway = new Gateway();
  const from = new Date(Date.now() - 60_000).toISOString();
  const { boat, url } = await startBoat(setup, gateway, {
    "journal-dir": `${setup.folder}/journal`,
    "journal-block-size": "4096",
  });
  await using _boat = boat;
  const ask = async () => {
    const reply = await fetch(`${url}/history?from=${from}`);
    const text = await reply.text();
    if (!reply.ok || !text.includes("127250")) throw new Error(`/history: ${reply.status} ${text.slice(0, 200)}`);
  };
  {
    await using reader = await Reader.open(`${url}/events`);
    await warmUp(gateway, reader);
  }
  await ask();
  return { "request for history": await measure([boat], ask) };
}

/** Gateway → boat → cloud → event stream at the cloud. */
async function measureCloud({ root, folder }: Setup): Promise<Record<string, Path>> {
  const certificates = `${folder}/ca`;
  const ca = (...words: string[]) =>
    runProgram(Deno.execPath(), ["run", "-A", "-q", "--no-check", new URL("cli/cloud.ts", root).href, "ca", ...words]);
  await ca("init", "-ca-dir", certificates);
  await ca("issue", "-ca-dir", certificates, "-ip", HOST);
  await ca("issue", "-ca-dir", certificates, BOAT);
  const server = `${certificates}/server`;
  const tls = { "tls-cert": `${server}/cert.pem`, "tls-key": `${server}/key.pem`, "tls-client-ca": `${server}/ca.pem` };
  const args = flagsOf({ listen: `${HOST}:0`, "data-dir": `${folder}/cloud`, ...tls });
  await using cloud = await InspectedProgram.start("cloud", { root, folder, args });
  const [, url = "", port = ""] = await cloud.logged(/"url":"(https:[^"]+:(\d+))"/);
  using gateway = new Gateway();
  const own = `${certificates}/boats/${BOAT}`;
  const { boat } = await startBoat({ root, folder }, gateway, {
    "journal-dir": `${folder}/journal`,
    "replication-target": `${HOST}:${port}`,
    "replication-instance-id": BOAT,
    "replication-tls-cert": `${own}/cert.pem`,
    "replication-tls-key": `${own}/key.pem`,
    "replication-tls-ca": `${own}/ca.pem`,
  });
  await using _boat = boat;
  using client = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(`${server}/ca.pem`)] });
  await using reader = await Reader.open(`${url}/instances/${BOAT}/events`, client);
  await warmUp(gateway, reader);
  const act = async () => await reader.receive(await gateway.send());
  return { "boat to event stream of the cloud": await measure([boat, cloud], act) };
}

async function main(): Promise<void> {
  const { values } = parseArgs({ args: scriptArgs(), options: { root: { type: "string", default: "." } } });
  const root = pathToFileURL(`${await Deno.realPath(values.root)}/`);
  for (const one of [measureBoat, measureCloud, measureHistory]) {
    const folder = await Deno.makeTempDir({ prefix: "vbg_walks_" });
    try {
      for (const [name, path] of Object.entries(await one({ root, folder }))) console.log(format(name, path));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
}

/** A path's number of files, and their names by folder. */
function format(name: string, path: Path): string {
  const folders = Map.groupBy(path, (file) => file.slice(0, file.lastIndexOf("/")));
  const lines = [...folders].map(([folder, files]) =>
    `  ${folder}: ${files.map((file) => file.slice(folder.length + 1)).join(" ")}`
  );
  return [`${name}: ${path.length} files`, ...lines, ""].join("\n");
}

if (import.meta.main) await runScript("walks", main);
