import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Assembler, type CanBus, createBus } from "../../src/can/mod.ts";
import { buildCanId, formatHex, nameFromBytes, parseCanId } from "../../src/frame/mod.ts";
import {
  type OutgoingMessage,
  type OwnAddress,
  Transmitter,
  type TransmitterOptions,
  VirtualDevice,
} from "../../src/transmit/mod.ts";
import { type CandumpFrame, parseCandump } from "../support/candump.ts";
import { eventually } from "../support/eventually.ts";
import { NaiveAssembler } from "../support/naive_assembler.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { TpReceiver } from "../support/tp_receiver.ts";
import { outgoing } from "../support/tp_wire.ts";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { run } from "../contract/can_bus.ts";

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

const deviceOptions = needs({ permissions: ["ffi", "read", "run", "write"], programs: ["ip", "candump", "canplayer"] });
const BUSES = ["vcan0", "vcan1"];
const CLAIM = 60928;
const PRODUCT = 126996;
const LOW = 0xc0328200ffc00100n;
const MIDDLE = 0xc0328200ffc00200n;
const HIGH = 0xc0328200ffc00300n;

/** What candump has written so far of a bus. */
class Dump implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #text = "";

  constructor(bus: string) {
    // -D: goes on when the interface has been down.
    const args = ["-D", "-L", bus];
    this.#child = new Deno.Command("candump", { args, stdin: "null", stdout: "piped", stderr: "null" }).spawn();
    this.#reading = this.#read();
  }

  get frames(): CandumpFrame[] {
    return parseCandump(this.#text.slice(0, this.#text.lastIndexOf("\n") + 1));
  }

  /** The claims as `[source, NAME]`. */
  get claims(): [number, bigint][] {
    return this.frames.filter(({ id }) => parseCanId(id).pgn === CLAIM)
      .map(({ id, data }) => [id & 0xff, nameFromBytes(data)]);
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) this.#text += text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#reading;
  }
}

/** A virtual device with sockets of its own, wired as in the boat server. */
class Gateway implements AsyncDisposable {
  readonly #buses: CanBus[];
  readonly #transmitter: Transmitter;
  readonly device: VirtualDevice;

  private constructor(buses: CanBus[], name: bigint) {
    this.#buses = buses;
    this.#transmitter = new Transmitter({ buses });
    this.device = new VirtualDevice({
      ...{ buses, name, transmit: this.#transmitter, clock: systemClock, log: silentLogger },
      modelId: "vcan gateway",
    });
  }

  static async start(name: bigint): Promise<Gateway> {
    const buses = await Promise.all(BUSES.map((bus) => createBus(bus)));
    const gateway = new Gateway(buses, name);
    for (const [index, bus] of buses.entries()) await gateway.#open(bus, index);
    gateway.device.start();
    return gateway;
  }

  async #open(bus: CanBus, index: number): Promise<void> {
    const assembler = new Assembler((message) => this.device.message(message), { bus: index });
    await bus.open({
      frame: (frame) => {
        assembler.push(frame);
        this.#transmitter.heard(index, frame);
        this.device.heard(index, frame);
      },
      state: (state) => {
        if (state.type === "up") this.device.up(index);
      },
    });
  }

  /** Waits until it holds an address. */
  async holds(src: number, bus = 0): Promise<void> {
    const pathExists = (own: OwnAddress) => own.kind === "claimed" && own.src === src;
    await eventually(`address ${src} on ${BUSES[bus]}`, () => pathExists(this.device.address(bus)));
  }

  /** Waits until it holds an address, and tells which. */
  async holdsAny(bus = 0): Promise<number> {
    return await eventually(`an address on ${BUSES[bus]}`, () => {
      const own = this.device.address(bus);
      return own.kind === "claimed" ? own.src : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.device.stop();
    for (const bus of this.#buses) await bus.close();
  }
}

/** A frame of a third party. */
interface Word {
  pgn: number;
  src: number;
  dst?: number;
  data: readonly number[];
}

/** A third party says something on the first bus, by one program: parts of a session must follow each other soon. */
async function say(...words: readonly Word[]): Promise<void> {
  const lines = words.map(({ pgn, src, dst = 255, data }) => {
    const id = buildCanId({ prio: 6, pgn, src, dst }).toString(16).toUpperCase().padStart(8, "0");
    return `(0.000000) vcan0 ${id}#${Uint8Array.from(data).toHex()}\n`;
  });
  const file = await Deno.makeTempFile({ suffix: ".log" });
  try {
    await Deno.writeTextFile(file, lines.join(""));
    await run("canplayer", "-I", file);
  } finally {
    await Deno.remove(file);
  }
}

function nameBytes(name: bigint): number[] {
  return Array.from({ length: 8 }, (_, i) => Number((name >> BigInt(8 * i)) & 0xffn));
}

Deno.test(
  "two virtual devices and a third party: each address has one holder, the lower NAME wins",
  deviceOptions,
  async () => {
    await using dump = new Dump("vcan0");
    await using middle = await Gateway.start(MIDDLE);
    await using high = await Gateway.start(HIGH);
    const [first, second] = [await middle.holdsAny(), await high.holdsAny()];
    assert.deepEqual([first, second].sort(), [251, 252]);
    assert.notEqual(await middle.holdsAny(1), await high.holdsAny(1));
    const onOther = middle.device.address(1);

    await say({ pgn: CLAIM, src: first, data: nameBytes(LOW) });
    await middle.holds(250);
    await say({ pgn: CLAIM, src: second, data: nameBytes(HIGH + 1n) });
    await eventually("the rival is answered", () => {
      const last = dump.claims.at(-1);
      return last?.[0] === second && last[1] === HIGH;
    });
    await high.holds(second);

    // Told to take the address of the other, whose NAME is higher: that one has to go.
    await say(
      { pgn: 60416, src: 10, data: [32, 9, 0, 2, 255, 0xd8, 0xfe, 0] },
      { pgn: 60160, src: 10, data: [1, ...nameBytes(MIDDLE).slice(0, 7)] },
      { pgn: 60160, src: 10, data: [2, ...nameBytes(MIDDLE).slice(7), second, 255, 255, 255, 255, 255] },
    );
    await middle.holds(second);
    assert.notEqual(await high.holdsAny(), second);

    assert.deepEqual(middle.device.address(1), onOther, "the other bus has no conflict");
    assert.deepEqual([middle.device.counters(0)!.sameName, high.device.counters(0)!.sameName], [0, 0]);
    // By the rule of the wire: the last claim of a NAME is its address.
    const own = new Map(dump.claims.map(([src, name]) => [name, src]));
    assert.deepEqual([own.get(LOW), own.get(MIDDLE), own.get(HIGH)], [first, second, await high.holdsAny()]);
  },
);

Deno.test(
  "a virtual device tells what it is, refuses what it is not, and goes where it is told",
  deviceOptions,
  async () => {
    await using dump = new Dump("vcan0");
    await using gateway = await Gateway.start(MIDDLE);
    await gateway.holds(252);
    await say({ pgn: 59904, src: 10, dst: 252, data: [0x14, 0xf0, 0x01] });
    await say({ pgn: 59904, src: 10, dst: 252, data: [0x11, 0xf2, 0x01] });
    const from = (pgn: number) => dump.frames.filter(({ id }) => parseCanId(id).pgn === pgn && (id & 0xff) === 252);
    await eventually("the product information", () => from(PRODUCT).length === 20);
    const naive = new NaiveAssembler();
    const whole = from(PRODUCT).map(({ id, data }) =>
      naive.push({ id, data, offset: 0, length: data.length, timeUs: 0, monoMs: 0 })
    ).find((message) => message !== undefined);
    assert.match(new TextDecoder().decode(Uint8Array.from(whole!.data)), /vcan gateway/);
    await eventually("the refusal", () => from(59392).length === 1);
    assert.equal(from(59392)[0]!.data.toHex(), "01ffffffff11f201");

    // A commanded address comes addressed (RTS), so that it must be asked for; where that takes too long, again.
    const command = [...nameBytes(MIDDLE), 77];
    const answers = () => from(60416).map(({ data }) => data.toHex());
    await eventually("it confirms", async () => {
      const before = answers().length;
      await say({ pgn: 60416, src: 10, dst: 252, data: [16, 9, 0, 2, 255, 0xd8, 0xfe, 0] });
      await eventually("it asks for the packets", () => answers().length > before);
      assert.equal(answers()[before], "110201ffffd8fe00");
      await say(
        { pgn: 60160, src: 10, dst: 252, data: [1, ...command.slice(0, 7)] },
        { pgn: 60160, src: 10, dst: 252, data: [2, ...command.slice(7), 255, 255, 255, 255, 255] },
      );
      await eventually("it confirms or ends the session", () => answers().length > before + 1);
      return answers()[before + 1] === "13090002ffd8fe00";
    });
    await gateway.holds(77);
    await gateway.holds(252, 1);
  },
);

Deno.test("a virtual device claims again when its interface has been down", deviceOptions, async () => {
  await using dump = new Dump("vcan1");
  await using gateway = await Gateway.start(MIDDLE);
  await gateway.holds(252, 1);
  const own = () => dump.claims.filter(([src, name]) => src === 252 && name === MIDDLE).length;
  await eventually("the claim", () => own() === 1);
  await run("ip", "link", "set", "vcan1", "down");
  await run("ip", "link", "set", "vcan1", "up");
  await eventually("the claim again", () => own() === 2);
  await gateway.holds(252, 1);
});
