import assert from "node:assert/strict";
import { type Device, formatHex, parseCanId } from "../../src/frame/mod.ts";
import { run } from "../contract/can_bus.ts";
import type { CandumpFrame } from "../support/candump.ts";
import { Candump, Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { NaiveAssembler } from "../support/naive_assembler.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { START_MS, TestProgram } from "../support/program.ts";
import { Random } from "../support/random.ts";
import { TpReceiver } from "../support/tp_receiver.ts";

const options = needs({
  permissions: ["ffi", "read", "write", "run", "net", "env"],
  programs: ["ip", "candump"],
});
const BUSES = ["vcan0", "vcan1"];
const FAST = 129029;
const CLAIM = 60928;
const PRODUCT = 126996;
const CONFIGURATION = 126998;
const HEADING = 127250;
/** An address that neither the simulated boat nor the server takes. */
const NOBODY = 200;
/** Messages of one request. */
const TOGETHER = 32;
/** How long a query waits that is to be answered. */
const PATIENCE = "30s";
/** What a device must wait between its claim and its first message. */
const QUIET_MS = 250;

/** What a query answers: a frame, or a problem. */
interface Answer {
  pgn?: number;
  src?: number;
  decoded?: Record<string, unknown>;
  detail?: string;
}

/** The boat server as a program of its own, which lets clients send. */
class SendingBoat implements AsyncDisposable {
  readonly #program: TestProgram;
  readonly #url: string;

  private constructor(program: TestProgram, url: string) {
    this.#program = program;
    this.#url = url;
  }

  static async start(...flags: string[]): Promise<SendingBoat> {
    const common = ["-listen", "127.0.0.1:0", "-log-format", "json", "-send-enabled"];
    const program = await TestProgram.start("boat", (folder) => ["-state-dir", folder, ...common, ...flags]);
    return new SendingBoat(program, await program.url());
  }

  /** Everything that was done for clients, a line each. */
  get audit(): Record<string, unknown>[] {
    const lines = this.#program.log.split("\n").slice(0, -1).filter((line) => line.includes('"component":"audit"'));
    return lines.map((line) => JSON.parse(line));
  }

  async get<T>(path: string): Promise<T> {
    return await (await fetch(this.#url + path)).json();
  }

  async post(path: string, body: unknown): Promise<Response> {
    return await fetch(this.#url + path, { method: "POST", body: JSON.stringify(body) });
  }

  /** Sends, which must be accepted. */
  async send(body: unknown): Promise<void> {
    const reply = await this.post("/send", body);
    assert.equal(await reply.text(), "");
    assert.equal(reply.status, 202);
  }

  /** Asks; answers the status and what came. */
  async query(body: unknown): Promise<{ status: number; reply: Answer }> {
    const response = await this.post("/query", { decode: true, timeout: PATIENCE, ...Object(body) });
    return { status: response.status, reply: await response.json() };
  }

  /** Asks until somebody answers: a slow machine under emulation hears not every frame. */
  async answered(body: unknown): Promise<{ status: number; reply: Answer }> {
    return await eventually("an answer", async () => {
      const answer = await this.query(body);
      return answer.status !== 504 && answer;
    }, { deadlineMs: START_MS });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

/** Fast packets put together by an assembler that shares no code with the server's. */
function fastPackets(frames: readonly CandumpFrame[]): string[] {
  const naive = new NaiveAssembler();
  return frames.flatMap(({ id, data }) => {
    const message = naive.push({ id, data, offset: 0, length: data.length, timeUs: 0, monoMs: 0 });
    return message ? [formatHex(Uint8Array.from(message.data))] : [];
  });
}

function from(src: number, pgn: number, frames: readonly CandumpFrame[]): CandumpFrame[] {
  return frames.filter(({ id }) => parseCanId(id).pgn === pgn && parseCanId(id).src === src);
}

Deno.test(
  "POST /send puts 9 to 223 bytes on the bus as fast packets and 1785 bytes by BAM, as candump reads them",
  options,
  async () => {
    const random = new Random(9223);
    const payloads = Array.from({ length: 215 }, (_, i) => random.bytes(i + 9))
      .filter(({ length }) => IS_FULL || length % 8 === 1 || length > 222);
    const long = random.bytes(1785);
    await using dump = await Candump.of("vcan0");
    await using boat = await SendingBoat.start(
      ...["-interface", "vcan0", "-discovery=false", "-send-rules", `pgn:${FAST},${CONFIGURATION}`],
    );
    // Its frames pass between those of the others.
    await boat.send({ pgn: CONFIGURATION, src: 9, data: formatHex(long) });
    let frames = 0;
    for (let at = 0; at < payloads.length; at += TOGETHER) {
      const some = payloads.slice(at, at + TOGETHER);
      await boat.send(some.map((data) => ({ pgn: FAST, src: 9, prio: 3, data: formatHex(data) })));
      frames += some.reduce((sum, { length }) => sum + 1 + Math.ceil((length - 6) / 7), 0);
      await eventually(`${frames} frames`, () => dump.lines >= frames);
    }
    assert.equal((await boat.post("/send", { pgn: HEADING, data: "00" })).status, 403);
    await eventually("all frames", () => dump.lines >= frames + 1 + 255);

    const fast = from(9, FAST, dump.frames);
    assert.deepEqual(fastPackets(fast), payloads.map((data) => formatHex(data)));
    assert.ok(fast.every(({ id, data }) => parseCanId(id).prio === 3 && data.length === 8));
    const receiver = new TpReceiver({ address: 255 });
    for (const frame of dump.frames) receiver.hear(frame, 0);
    assert.deepEqual(receiver.messages, [{ pgn: CONFIGURATION, src: 9, dst: 255, data: [...long] }]);
    assert.equal(dump.frames.some(({ id }) => parseCanId(id).pgn === HEADING), false);
    const outcomes = await eventually("the audit log", () => {
      const all = boat.audit.map(({ outcome }) => outcome);
      return all.length >= payloads.length + 2 && all;
    });
    assert.deepEqual(outcomes.sort(), [...Array(payloads.length + 1).fill("accepted"), "policy"]);
  },
);

Deno.test("POST /query is answered by the simulated boat in another process", options, async () => {
  await using _twin = await Child.script("twin_peer.ts", "vcan0");
  await using boat = await SendingBoat.start("-interface", "vcan0");
  const device = await eventually(
    "a device that has told everything",
    async () => (await boat.get<Device[]>("/devices")).find(({ model_id }) => model_id !== undefined),
    { deadlineMs: START_MS },
  );
  const dst = device.src;

  const product = await boat.answered({ pgn: PRODUCT, dst });
  assert.deepEqual([product.status, product.reply.pgn, product.reply.src], [200, PRODUCT, dst]);
  assert.equal(product.reply.decoded?.["model_id"], device.model_id);
  const configuration = await boat.answered({ pgn: CONFIGURATION, dst });
  assert.deepEqual([configuration.status, configuration.reply.src], [200, dst]);
  const anybody = await boat.answered({ pgn: PRODUCT });
  assert.deepEqual([anybody.status, anybody.reply.pgn], [200, PRODUCT]);

  const refused = await boat.answered({ pgn: 65001, dst });
  assert.deepEqual(
    [refused.status, refused.reply.detail],
    [502, `Device ${dst} refused the request: PGN not available`],
  );
  const nobody = await boat.query({ pgn: PRODUCT, dst: NOBODY, timeout: "500ms" });
  assert.deepEqual([nobody.status, nobody.reply.detail], [504, "No device answered in time"]);
});

Deno.test(
  "a virtual device claims an address on each bus, keeps quiet for 250 ms, and repeats itself",
  options,
  async () => {
    await using first = await Candump.of("vcan0");
    await using second = await Candump.of("vcan1");
    const dumps = [first, second];
    await using boat = await SendingBoat.start(
      ...["-interface", BUSES.join(","), "-discovery=false", "-virtual-device"],
      ...["-virtual-device-claim-heartbeat", "1s", "-virtual-device-product-info-heartbeat", "1s"],
    );
    for (const [index, bus] of BUSES.entries()) {
      const early = await eventually(`an address on ${bus}`, async () => {
        const reply = await boat.post("/send", { pgn: HEADING, src: 33, data: "0011223344556677", bus });
        await reply.body?.cancel();
        if (reply.status === 202) return { refused: true };
        assert.equal(reply.status, 503);
        assert.notEqual(reply.headers.get("Retry-After"), null);
        return undefined;
      });
      assert.ok(early);
      const frames = () => dumps[index]!.frames;
      await eventually(
        "the message, and everything again",
        () =>
          from(252, HEADING, frames()).length === 1 && from(252, CLAIM, frames()).length >= 3 &&
          fastPackets(from(252, PRODUCT, frames())).length >= 2,
      );
      const [claim] = from(252, CLAIM, frames());
      const others = frames().filter(({ id }) => parseCanId(id).src === 252 && parseCanId(id).pgn !== CLAIM);
      // A least time by the kernel's stamps: a slow machine can only make it longer.
      assert.ok(others.every(({ timeUs }) => timeUs! - claim!.timeUs! >= QUIET_MS * 1000));
      assert.equal(frames().some(({ id }) => parseCanId(id).src === 33), false, "it speaks from no other address");
      assert.deepEqual(new Set(from(252, CLAIM, frames()).map(({ data }) => data.toHex())).size, 1);
    }
  },
);

Deno.test("what is sent while the interface is down fails, told, and later messages go out", options, async () => {
  await using dump = await Candump.of("vcan0");
  await using boat = await SendingBoat.start("-interface", "vcan0", "-discovery=false");
  const heard = () => from(254, HEADING, dump.frames).map(({ data }) => data.toHex());
  await boat.send({ pgn: HEADING, data: "01" });
  await eventually("the first message", () => heard().length === 1);
  await run("ip", "link", "set", "vcan0", "down");
  try {
    // 202 when the server has not noticed yet.
    const { status } = await boat.post("/send", { pgn: HEADING, data: "02" });
    assert.ok(status === 202 || status === 503, `status ${status}`);
    await eventually("the failure is told", () => boat.audit.some(({ data, why }) => data === "02" && why));
    const asked = await boat.query({ pgn: PRODUCT });
    assert.equal(asked.status, 503);
  } finally {
    await run("ip", "link", "set", "vcan0", "up");
  }
  await eventually("it goes again", async () => {
    await (await boat.post("/send", { pgn: HEADING, data: "03" })).body?.cancel();
    return heard().includes("03");
  });
  assert.equal(heard().includes("02"), false, "nothing comes late");
});
