import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type CanBus, createBus } from "../../src/can/mod.ts";
import { formatHex, parseCanId } from "../../src/frame/mod.ts";
import { type OutgoingMessage, Transmitter, type TransmitterOptions } from "../../src/transmit/mod.ts";
import { type CandumpFrame, parseCandump } from "../support/candump.ts";
import { eventually } from "../support/eventually.ts";
import { NaiveAssembler } from "../support/naive_assembler.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { TpReceiver } from "../support/tp_receiver.ts";
import { outgoing } from "../support/tp_wire.ts";

const options = needs({ permissions: ["ffi", "read", "run"], programs: ["ip", "candump"] });
/** Every day `send.ts` sends the same payloads by `POST /send`, through the transmitter. */
const inFull = IS_FULL ? options : needs({ extras: { "VBG_TEST_FULL=1": false } });
const random = new Random(223);
const BUS = "vcan0";
const PEER = 20;
const FAST = 129029;
const ADDRESSED = 126208;
/** Sockets that listen to all frames of an interface, one a line. */
const LISTENERS = "/proc/net/can/rcvlist_all";

/** A child process that is ended with the test, and all that it has written. */
class Listener implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #text = "";

  private constructor(program: string, args: string[]) {
    this.#child = new Deno.Command(program, { args, stdin: "null", stdout: "piped", stderr: "inherit" }).spawn();
    this.#reading = this.#read();
  }

  /** `candump` of the bus; it hears everything from when this resolves, and ends after `count` frames. */
  static async candump(count: number): Promise<Listener> {
    const listeners = async () =>
      (await Deno.readTextFile(LISTENERS)).split("\n").filter((line) => line.trim().startsWith(`${BUS} `)).length;
    const before = await listeners();
    const started = new Listener("candump", ["-L", "-n", String(count), BUS]);
    await eventually("candump listens", async () => await listeners() > before);
    return started;
  }

  /** A receiver of transport sessions. */
  static async peer(window: number): Promise<Listener> {
    const script = fileURLToPath(new URL("../support/tp_peer.ts", import.meta.url));
    const args = ["run", "--no-check", "--cached-only", "-A", script, BUS, String(PEER), String(window)];
    const started = new Listener(Deno.execPath(), args);
    await started.lines(1);
    return started;
  }

  /** What it has written, when it has ended by itself. */
  async all(): Promise<string> {
    await this.#reading;
    return this.#text;
  }

  /** The first so many lines. */
  async lines(count: number): Promise<string[]> {
    return await eventually(`${count} lines`, () => {
      const lines = this.#text.split("\n");
      return lines.length > count && lines.slice(0, count);
    });
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) this.#text += text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.#child.status;
    await this.#reading;
  }
}

/** A transmitter on a bus that hears its own frames and those of others. */
class Sender implements AsyncDisposable {
  readonly transmitter: Transmitter;
  readonly #bus: CanBus;

  private constructor(bus: CanBus, options: Partial<TransmitterOptions>) {
    this.#bus = bus;
    this.transmitter = new Transmitter({ buses: [bus], ...options });
  }

  static async open(options: Partial<TransmitterOptions> = {}): Promise<Sender> {
    const bus = await createBus(BUS, { driver: "ffi" });
    const sender = new Sender(bus, options);
    await bus.open({ frame: (frame) => sender.transmitter.heard(0, frame), state: () => {} });
    return sender;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.transmitter.close();
    await this.#bus.close();
  }
}

/** Messages that came by fast packet, as an assembler of their own makes them. */
function fastPackets(frames: readonly CandumpFrame[]): string[] {
  const naive = new NaiveAssembler();
  return frames.flatMap(({ id, data }) => {
    const message = naive.push({ id, data, offset: 0, length: data.length, timeUs: 0, monoMs: 0 });
    return message ? [`${parseCanId(id).pgn} ${formatHex(Uint8Array.from(message.data))}`] : [];
  });
}

Deno.test("payloads of 1 to 223 bytes go out as standard fast packets, read back by candump", inFull, async () => {
  const messages: OutgoingMessage[] = Array.from(
    { length: 223 },
    (_, i) => outgoing({ pgn: FAST, data: random.bytes(i + 1) }),
  );
  const count = messages.reduce((sum, { data }) => sum + 1 + Math.max(0, Math.ceil((data.length - 6) / 7)), 0);
  await using dump = await Listener.candump(count);
  await using sender = await Sender.open({ queueMessages: messages.length, queueTimeoutMs: 60_000 });
  await sender.transmitter.send(messages);
  const frames = parseCandump(await dump.all());
  assert.ok(frames.every(({ data }) => data.length === 8));
  assert.deepEqual(fastPackets(frames), messages.map(({ data }) => `${FAST} ${formatHex(data)}`));
  const begun = frames.filter(({ data }) => (data[0]! & 31) === 0).map(({ data }) => data[0]! >> 5);
  assert.deepEqual(begun, messages.map((_, i) => i % 8));
});

Deno.test("1785 bytes go to everybody by BAM, read back by candump", inFull, async () => {
  const data = random.bytes(1785);
  await using dump = await Listener.candump(256);
  await using sender = await Sender.open();
  await sender.transmitter.send([outgoing({ pgn: 126998, src: 9, data })]);
  const receiver = new TpReceiver({ address: 255 });
  for (const frame of parseCandump(await dump.all())) receiver.hear(frame, 0);
  assert.deepEqual(receiver.messages, [{ pgn: 126998, src: 9, dst: 255, data: [...data] }]);
});

for (const window of [16, 255]) {
  Deno.test(
    `1785 bytes go to another process by RTS/CTS, ${window} packets at a time, while fast packets pass`,
    options,
    async () => {
      const data = random.bytes(1785);
      const fast = random.bytes(100);
      await using peer = await Listener.peer(window);
      const sessionFrames = 1 + 255 + Math.ceil(255 / window) + 1;
      await using dump = await Listener.candump(sessionFrames + 15);
      await using sender = await Sender.open();
      await sender.transmitter.send([
        outgoing({ pgn: ADDRESSED, src: 9, dst: PEER, data }),
        outgoing({ pgn: FAST, data: fast }),
      ]);
      const [, line = ""] = await peer.lines(2);
      assert.deepEqual(JSON.parse(line), { pgn: ADDRESSED, src: 9, dst: PEER, data: [...data] });
      const frames = parseCandump(await dump.all());
      const passed = frames.filter(({ id }) => parseCanId(id).pgn === FAST);
      assert.deepEqual(fastPackets(passed), [`${FAST} ${formatHex(fast)}`]);
      assert.deepEqual(sender.transmitter.status[0]?.counters.sent, 2);
    },
  );
}

Deno.test(
  "a session to an address where nobody is ends, and the bus is free for the next message",
  options,
  async () => {
    await using sender = await Sender.open();
    const lost = sender.transmitter.send([outgoing({ pgn: ADDRESSED, dst: 77, length: 300 })]);
    await assert.rejects(lost, { name: "TransmitError", reason: "silent" });
    await sender.transmitter.send([outgoing()]);
  },
);
