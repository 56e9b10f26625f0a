import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { startBoat } from "../../src/boat/boat.ts";
import { Assembler, createSourceBus, parseBusSource, splitFastPacket } from "../../src/can/mod.ts";
import { parseSendRules } from "../../src/transmit/mod.ts";
import { Logger } from "../../src/base/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { BusClient, connected, on, RawClient, SENDING, start, textOf, Traffic } from "../support/gateway_clients.ts";
import { HeldPort } from "../support/held_port.ts";
import { IS_FULL } from "../support/needs.ts";

const FRAMES = IS_FULL ? 1_000_000 : 20_000;
const BATCH = 1000;
/** Requests of an hour. */
const PER_SECOND = 10;
const REQUESTS = IS_FULL ? 36_000 : 400;

Deno.test("our own gateway bus reads every frame and message back byte-equal in every format", async () => {
  using ports = new DisposableStack();
  const formats = [["ydraw", "ydwg"], ["n2kascii", "n2k-ascii"], ["bst", "actisense"], ["candump", "candump"]] as const;
  const held = formats.map(() => ports.use(HeldPort.take()));
  const targets = formats.map(([format], index) => on(held[index]!, { format }));
  // Time stands still: no frame of a fast packet is too late.
  await using boat = await TestBoat.start({ gateway: { targets }, clock: new FakeClock() });
  await using clients = new AsyncDisposableStack();
  const readers: BusClient[] = [];
  for (const [index, [, format]] of formats.entries()) {
    readers.push(clients.use(await BusClient.open(held[index]!.port, format)));
  }
  await connected(boat, formats.length);
  const traffic = new Traffic(1);
  for (let count = 0; count < FRAMES;) {
    const fed = traffic.feed(boat, BATCH);
    count += fed.frames.length;
    for (const [index, [format]] of formats.entries()) {
      const expected = format === "n2kascii" ? fed.messages : fed.frames;
      const { read } = readers[index]!;
      await eventually(`${format}: ${expected.length}`, () => read.length >= expected.length);
      assert.deepEqual(readers[index]!.take(), expected, format);
    }
  }
  assert.equal(await boat.metric("vbg_gateway_dropped_total"), 0);
});

Deno.test("lines have the format of each gateway to the byte", async () => {
  const clock = new FakeClock();
  const [id, data] = [0x09f80115, [0xa0, 0x10, 0x10, 0x0a]];
  const lines: string[] = [];
  for (const format of ["ydraw", "n2kascii", "bst", "candump"] as const) {
    await using server = await start({ format }, { clock });
    using client = await RawClient.open(server.port);
    await connected(server.boat, 1);
    server.boat.buses[0]!.inject(id, Uint8Array.from(data));
    lines.push(await eventually("the line", () => client.text));
  }
  const us = clock.wallUs();
  const time = new Date(us / 1000).toISOString().slice(11, 23);
  const ms = Math.floor(us / 1000) % 65_536;
  const record = [0x95, 10, ms & 255, ms >> 8, 0x15, 0x01, 0xf8, 0x09, ...data];
  const body = [...record, -record.reduce((a, b) => a + b) & 255].flatMap((byte) => byte === 16 ? [16, 16] : [byte]);
  assert.deepEqual(lines, [
    `${time} R 09F80115 A0 10 10 0A\r\n`,
    `A${time.replaceAll(":", "")} 15FF2 1F801 A010100A\r\n`,
    String.fromCharCode(16, 2, ...body, 16, 3),
    `(${Math.floor(us / 1e6)}.${String(us % 1e6).padStart(6, "0")}) can0 09F80115#A010100A\n`,
  ]);
});

Deno.test("a port with a bus passes on this bus alone", async () => {
  await using server = await start({ format: "candump", bus: "can1" }, { names: ["can0", "can1"] });
  using client = await RawClient.open(server.port);
  await connected(server.boat, 1);
  server.boat.say({ bus: 0 });
  server.boat.say({ bus: 1, src: 7 });
  server.boat.say({ bus: 0 });
  server.boat.say({ bus: 1, src: 8 });
  await eventually("the last frame", () => client.text.includes("F11208#"));
  assert.match(client.text, /^\(\S+ can1 09F11207#\w+\n\(\S+ can1 09F11208#\w+\n$/);
});

Deno.test("a bus that the gateway server is to serve, and that does not exist, is an error at the start", async () => {
  await assert.rejects(start({ format: "candump", bus: "can7" }), /bus "can7": expected "can0"/);
});

Deno.test("datagrams hold whole lines, and all frames", async () => {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const datagrams: string[] = [];
  socket.on("message", (bytes) => datagrams.push(bytes.toString()));
  const target = { protocol: "udp", hostname: "127.0.0.1", port: socket.address().port, format: "ydraw" } as const;
  await using boat = await TestBoat.start({ gateway: { targets: [target] } });
  for (let src = 0; src < 100; src++) boat.say({ src });
  await eventually("100 lines", () => datagrams.join("").split("\r\n").length > 100);
  assert.equal(datagrams.every((text) => text.endsWith("\r\n") && text.length <= 1400), true);
  const sources = datagrams.join("").trim().split("\r\n").map((line) => parseInt(line.slice(21, 23), 16));
  assert.deepEqual(sources, Array.from({ length: 100 }, (_, src) => src));
  socket.close();
});

Deno.test("requests in the pattern of OpenCPN for an hour put nothing on the bus", async () => {
  const clock = new FakeClock();
  await using server = await start({ format: "ydraw", send: true }, { ...SENDING, clock, deviceIdleTimeoutMs: 0 });
  const { boat, port } = server;
  boat.claim(35, { uniqueNumber: 5 });
  boat.product(35, "GPS 19x");
  await eventually("the device", async () => (await boat.get<unknown[]>("/devices")).length === 1);
  const before = boat.heard[0]!.length;
  using client = await RawClient.open(port);
  const answered = `vbg_gateway_written_total{result="answered"}`;
  for (let count = 0; count < REQUESTS; count += PER_SECOND) {
    for (let each = 0; each < PER_SECOND; each++) await client.write("18eaffff 14 F0 01", "18EAFFFF 00 EE 00");
    await eventually("the answers", async () => await boat.metric(answered) === 2 * (count + PER_SECOND));
    clock.advance(1000);
  }
  await client.write("18EA23FF 01 F2 01");
  await eventually(
    "the last one",
    async () => await boat.metric(`vbg_gateway_written_total{result="unanswered"}`) === 1,
  );
  assert.equal(boat.heard[0]!.length - before, 0);
});

Deno.test("a request is answered to the client that asks alone, from the device table", async () => {
  await using server = await start({ format: "n2kascii" });
  const { boat, port } = server;
  boat.claim(35, { uniqueNumber: 5 });
  boat.product(35, "GPS 19x");
  boat.say({ pgn: 126998, src: 35, data: [...Array(12).keys()] });
  await eventually("the device", async () => (await boat.get<unknown[]>("/devices")).length === 1);
  using client = await RawClient.open(port);
  using other = await RawClient.open(port);
  await connected(boat, 2);
  await client.write("A000000.000 01FF6 0EA00 00EE00", "A000000.000 01FF6 0EA00 14F001");
  await client.write("A000000.000 01236 0EA00 16F001", "A000000.000 01226 0EA00 14F001");
  boat.say({ src: 77 });
  for (const each of [client, other]) await eventually("the frame", () => each.text.includes(" 4DFF2 "));
  const parts = (lines: readonly string[]) => lines.map((line) => line.split(" ").slice(1));
  assert.deepEqual(parts(other.lines).map(([header]) => header), ["4DFF2"]);
  const answers = parts(client.lines).filter(([header]) => header !== "4DFF2");
  assert.deepEqual(answers.map(([header, pgn]) => [header, pgn]), [
    ["23FF6", "0EE00"],
    ["23FF6", "1F014"],
    ["FEFF6", "1F014"],
    ["23FF2", "1F016"],
  ]);
  assert.equal(answers[0]![2], boat.heard[0]!.find(({ pgn }) => pgn === 60928)!.data.toUpperCase());
  assert.equal(answers[3]![2], "000102030405060708090A0B");
});

Deno.test("OpenCPN finds a gateway that it can send through only where it may send", async () => {
  for (const [send, sendEnabled] of [[true, true], [false, true], [true, false]] as const) {
    await using server = await start({ format: "ydraw", send }, { ...SENDING, sendEnabled });
    using client = await RawClient.open(server.port);
    await client.write("18eaffff 14 F0 01");
    const lines = await eventually("20 frames", () => client.lines.length === 20 && client.lines);
    assert.equal(lines.every((line) => line[13] === "T" && line.slice(15, 23) === "19F014FE"), true);
    const bytes = lines.flatMap((line, index) => line.slice(24).split(" ").slice(index === 0 ? 2 : 1));
    const model = bytes.slice(4, 36).map((byte) => String.fromCharCode(parseInt(byte, 16))).join("");
    assert.equal(model.startsWith("Vessel Bus Gateway"), true);
    assert.equal(model.includes("YDEN"), send && sendEnabled);
  }
});

Deno.test("what a client writes goes onto the bus through the send gate, and is echoed to all with T", async () => {
  const logged: string[] = [];
  const log = new Logger({ format: "json", write: (line) => logged.push(line) });
  await using server = await start({ format: "ydraw", send: true }, { ...SENDING, log });
  const { boat, port } = server;
  using client = await RawClient.open(port);
  using other = await RawClient.open(port);
  await connected(boat, 2);
  const payload = Uint8Array.from({ length: 30 }, (_, index) => index);
  const hex = (data: Uint8Array) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0").toUpperCase());
  const frames = splitFastPacket(payload, 5).map((frame) => hex(frame).join(" "));
  await client.write("09F11200 01 02 03 04 05 06 07 08", ...frames.map((frame) => `0df80500 ${frame}`));
  boat.say({ src: 9 });
  await eventually("6 lines", () => other.lines.length >= 7);
  const directions = other.lines.map((line) => `${line[13]} ${line.slice(15, 23)}`).sort();
  assert.deepEqual(directions, ["R 09F11209", ...Array(5).fill("T 0DF805FE"), "T 09F112FE"].sort());
  const sent = boat.heard[0]!.filter(({ src }) => src === 254);
  assert.deepEqual(sent.map(({ pgn }) => pgn), [127250, ...Array(5).fill(129029)]);
  const whole = sent.slice(1).map(({ data }, index) => data.slice(index === 0 ? 4 : 2)).join("").slice(0, 60);
  assert.equal(whole, payload.toHex());
  const audits = logged.map((line) => JSON.parse(line)).filter(({ component }) => component === "audit");
  assert.deepEqual(audits.map(({ outcome, via, pgn }) => ({ outcome, via, pgn })), [
    { outcome: "accepted", via: "gateway", pgn: 127250 },
    { outcome: "accepted", via: "gateway", pgn: 129029 },
  ]);
  assert.match(audits[0].client, /^127\.0\.0\.1:\d+$/);
});

Deno.test("each format is read: BST 94, BST 95, N2K ASCII, candump", async () => {
  const record = (body: number[]) => {
    const bytes = [...body, -body.reduce((a, b) => a + b) & 255].flatMap((byte) => byte === 16 ? [16, 16] : [byte]);
    return Uint8Array.of(16, 2, ...bytes, 16, 3);
  };
  const command = record([0x94, 8, 2, 0x12, 0xf1, 1, 255, 2, 0x10, 0x20]);
  const frame = record([0x95, 8, 0, 0, 0x05, 0x12, 0xf1, 0x09, 0x10, 0x20]);
  const text = (line: string) => new TextEncoder().encode(line);
  const cases = [
    ["bst", command],
    ["bst", frame],
    ["n2kascii", text("A000000.000 01FF2 1F112 1020\r\n")],
    ["candump", text("(0.0) can0 09F11205#1020\n")],
    ["ydraw", text("00:00:00.000 T 09F11205 10 20\n")],
  ] as const;
  for (const [format, bytes] of cases) {
    await using server = await start({ format, send: true }, SENDING);
    using client = await RawClient.open(server.port);
    await client.writeBytes(bytes);
    const heard = await eventually(format, () => server.boat.heard[0]![0]);
    assert.deepEqual(heard, { pgn: 127250, src: 254, dst: 255, prio: 2, data: "1020" });
  }
});

Deno.test("of several buses, candump's lines name the one to send on; other formats send on the first", async () => {
  const names = ["can0", "can1"];
  const written = (boat: TestBoat, result: string) => boat.metric(`vbg_gateway_written_total{result="${result}"}`);
  for (const [format, bus] of [["candump", undefined], ["candump", "can1"], ["ydraw", undefined]] as const) {
    await using server = await start({ format, send: true, ...(bus && { bus }) }, { ...SENDING, names });
    using client = await RawClient.open(server.port);
    const raw = "09F11205 01 02";
    const lines = ["can0", "can1", "vcan7"].map((name) => `(0.0) ${name} 09F11205#0102`);
    await client.write(...format === "ydraw" ? [raw, raw, raw] : lines);
    const results = ["accepted", "unreadable"];
    await eventually("three lines", async () => {
      const counts = await Promise.all(results.map((result) => written(server.boat, result)));
      return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0) === 3;
    });
    const expected = format === "ydraw" ? [3, 0] : bus ? [0, 3] : [1, 1];
    await eventually("the frames", () => server.boat.heard.every(({ length }, index) => length >= expected[index]!));
    assert.deepEqual(server.boat.heard.map(({ length }) => length), expected);
  }
});

Deno.test("what may not be sent is refused, counted, and logged once", async () => {
  const cases = [
    [{ send: false }, SENDING, "send=allow"],
    [{ send: true }, {}, "send is disabled"],
    [{ send: true }, { ...SENDING, readOnly: true }, "read-only"],
    [{ send: true }, { ...SENDING, sendRules: parseSendRules("!pgn:127250") }, "denied by rule"],
  ] as const;
  for (const [target, options, reason] of cases) {
    const logged: string[] = [];
    const log = new Logger({ format: "json", write: (line) => logged.push(line) });
    await using server = await start({ format: "ydraw", ...target }, { ...options, log });
    using client = await RawClient.open(server.port);
    const line = "09F11200 01 02 03 04 05 06 07 08";
    await client.write(line, line, line, "nonsense");
    const written = (result: string) => server.boat.metric(`vbg_gateway_written_total{result="${result}"}`);
    await eventually("the bad line", async () => await written("unreadable") === 1);
    assert.deepEqual([await written("refused"), await written("accepted")], [3, 0]);
    assert.deepEqual(server.boat.heard[0], []);
    const lines = logged.map((each) => JSON.parse(each)).filter(({ message }) => /may not send/.test(message));
    assert.equal(lines.length, 1);
    assert.ok(lines[0].reason.includes(reason), lines[0].reason);
  }
});

Deno.test("address claims and parts of transport sessions are not sent for clients", async () => {
  await using server = await start({ format: "ydraw", send: true }, SENDING);
  using client = await RawClient.open(server.port);
  const bytes = "01 02 03 04 05 06 07 08";
  await client.write(`18EEFF05 ${bytes}`, `18ECFF05 ${bytes}`, `18EBFF05 ${bytes}`);
  const refused = () => server.boat.metric(`vbg_gateway_written_total{result="refused"}`);
  await eventually("three refusals", async () => await refused() === 3);
  assert.deepEqual(server.boat.heard[0], []);
});

Deno.test("messages of a bus that delivers no frames are split into frames; what no fast packet carries is counted", async () => {
  await using source = await start({ format: "n2kascii" }, { clock: new FakeClock() });
  using held = HeldPort.take();
  const bus = createSourceBus(parseBusSource(`tcp://127.0.0.1:${source.port}#n2k-ascii`));
  const targets = [on(held, { format: "ydraw" })];
  const listen = { hostname: "127.0.0.1", port: 0 };
  const boat = await startBoat({ buses: [bus], listen, discovery: false, gateway: { targets } });
  try {
    await connected(source.boat, 1);
    await using client = await BusClient.open(held.port, "ydwg");
    const metric = async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${boat.address.port}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1]);
    };
    await eventually("the client", async () => await metric("vbg_gateway_clients") === 1);
    const whole: string[] = [];
    const assembler = new Assembler(({ id, data, offset, length }) =>
      whole.push(textOf(id, data.subarray(offset, offset + length)))
    );
    const fed = new Traffic(3).feed(source.boat, 2000);
    source.boat.flood(1, 300);
    await eventually("the long message", async () => await metric("vbg_gateway_unsplit_total") === 1);
    const frame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
    await eventually("all messages", () => {
      for (const text of client.take()) {
        const [id = "", hex = ""] = text.split("#");
        const data = Uint8Array.fromHex(hex);
        assembler.push({ ...frame, id: parseInt(id, 16), data, length: data.length });
      }
      return whole.length >= fed.messages.length;
    });
    assert.deepEqual(whole, fed.messages);
  } finally {
    await boat.stop();
  }
});
