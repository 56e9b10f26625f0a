// What other makers' readers understand of the gateway server.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parseCanId } from "../../src/frame/mod.ts";
import { GATEWAY_FORMATS, type GatewayFormat } from "../../src/integrations/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { packageFolder } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { connected, RawClient, Traffic } from "../support/gateway_clients.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { HeldPort } from "../support/held_port.ts";
import { environment, IS_FULL, needs, SLOW } from "../support/needs.ts";

const FRAMES = IS_FULL ? 1_000_000 : 20_000;
const BATCH = 2000;
const PYTHON = environment("VBG_TEST_PYTHON");
const MAPPER = "@signalk/n2k-signalk";

/** A frame or message as `Traffic` writes it, with the fields of its identifier. */
function fieldsOf(text: string): string {
  const [id = "", data = ""] = text.split("#");
  const { pgn, src, dst, prio } = parseCanId(parseInt(id, 16));
  return `${pgn} ${src} ${dst} ${prio} ${data}`;
}

async function startWith(format: GatewayFormat, held: HeldPort): Promise<TestBoat> {
  const target = { protocol: "tcp", hostname: "127.0.0.1", port: held.port, format } as const;
  // Time stands still: no frame of a fast packet is too late.
  return await TestBoat.start({ gateway: { targets: [target] }, clock: new FakeClock() });
}

/** Feeds traffic and compares it with what a reader got, batch by batch. */
async function compare(boat: TestBoat, { format, take }: { format: GatewayFormat; take: () => string[] }) {
  const traffic = new Traffic(7);
  for (let count = 0; count < FRAMES;) {
    const fed = traffic.feed(boat, BATCH);
    count += fed.frames.length;
    const expected = (format === "n2kascii" ? fed.messages : fed.frames).map(fieldsOf);
    const read: string[] = [];
    await eventually(`${expected.length} of ${format}`, () => {
      read.push(...take());
      return read.length >= expected.length;
    });
    assert.deepEqual(read, expected);
  }
}

const withPython = needs({
  permissions: ["run", "read", "env"],
  others: { "nmea2000 (VBG_TEST_PYTHON)": PYTHON !== undefined },
  extras: SLOW,
});

for (const format of GATEWAY_FORMATS) {
  Deno.test(`the Python package nmea2000 reads ${format} byte-equal`, withPython, async () => {
    using held = HeldPort.take();
    await using boat = await startWith(format, held);
    const script = new URL("../support/gateway_oracle.py", import.meta.url).pathname;
    const args = [script, "127.0.0.1", String(held.port), format];
    const child = new Deno.Command(PYTHON ?? "python3", { args, stdout: "piped", stderr: "null" }).spawn();
    let text = "";
    const reading = (async () => {
      for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) text += piece;
    })();
    try {
      await connected(boat, 1);
      await compare(boat, {
        format,
        take: () => {
          const lines = text.split("\n");
          text = lines.pop() ?? "";
          // It asks for identities by itself; the gateway answers from 254.
          return lines.filter((line) => line.split(" ")[1] !== "254");
        },
      });
    } finally {
      child.kill("SIGKILL");
      await child.status;
      await reading;
    }
  });
}

interface ParsedLine {
  pgn: number;
  src: number;
  dst: number;
  prio: number;
  data: Uint8Array;
}

const withCanboat = needs({
  permissions: ["env", "read", "sys"],
  others: { [`npm package "${MAPPER}"`]: packageFolder(MAPPER) !== undefined },
  extras: SLOW,
});

for (const format of ["ydraw", "n2kascii", "candump"] as const) {
  Deno.test(`canboatjs reads ${format} byte-equal`, withCanboat, async () => {
    const require = createRequire(join(packageFolder(MAPPER) ?? "", "package.json"));
    const { parseN2kString }: { parseN2kString(line: string): ParsedLine } = require("@canboat/canboatjs");
    using held = HeldPort.take();
    await using boat = await startWith(format, held);
    using client = await RawClient.open(held.port);
    await connected(boat, 1);
    await compare(boat, {
      format,
      take: () =>
        client.takeLines().map((line) => {
          const { pgn, src, dst, prio, data } = parseN2kString(line);
          return `${pgn} ${src} ${dst} ${prio} ${Buffer.from(data).toString("hex")}`;
        }),
    });
  });
}
