import assert from "node:assert/strict";
import { join } from "node:path";
import { InterfaceDrops, readInterface } from "../../src/can/socketcan/interface_watch.ts";
import { needs } from "../support/needs.ts";

const options = needs({ permissions: ["read", "write"] });

/** A folder like /sys/class/net with one interface, removed after. */
async function withInterface(body: (root: string, write: (path: string, text: string) => void) => void): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(root, "can0", "statistics"), { recursive: true });
    body(root, (path, text) => Deno.writeTextFileSync(join(root, "can0", path), `${text}\n`));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test(
  "an interface is up, bus-off, down or missing by what the system says",
  options,
  () =>
    withInterface((root, write) => {
      write("ifindex", "7");
      write("flags", "0x40081");
      assert.deepEqual(readInterface("can0", { root }), { type: "up", index: 7, carrier: true });
      write("carrier", "0");
      assert.deepEqual(readInterface("can0", { root }), { type: "up", index: 7, carrier: false });
      write("carrier", "1");
      assert.deepEqual(readInterface("can0", { root }), { type: "up", index: 7, carrier: true });
      write("flags", "0x40080");
      assert.deepEqual(readInterface("can0", { root }), { type: "down", index: 7 });
      assert.deepEqual(readInterface("can1", { root }), { type: "missing" });
    }),
);

Deno.test(
  "frames lost by an interface count from the start, once, and at most once a second",
  options,
  () =>
    withInterface((root, write) => {
      let nowMs = 0;
      write("statistics/rx_dropped", "100");
      write("statistics/rx_over_errors", "5");
      write("statistics/rx_fifo_errors", "50");
      const drops = new InterfaceDrops("can0", { clock: { monoMs: () => nowMs, wallUs: () => 0 }, root });
      drops.rebase();
      write("statistics/rx_dropped", "103");
      assert.equal(drops.total(), 0);
      nowMs = 1000;
      assert.equal(drops.total(), 3);
      write("statistics/rx_over_errors", "6");
      write("statistics/rx_fifo_errors", "60");
      nowMs = 2000;
      assert.equal(drops.total(), 4);
      nowMs = 3000;
      assert.equal(drops.total(), 4);
    }),
);

Deno.test("frames lost by an interface are kept when it is made anew", options, () =>
  withInterface((root, write) => {
    let nowMs = 0;
    write("statistics/rx_dropped", "10");
    const drops = new InterfaceDrops("can0", { clock: { monoMs: () => nowMs, wallUs: () => 0 }, root });
    drops.rebase();
    write("statistics/rx_dropped", "12");
    nowMs = 1000;
    assert.equal(drops.total(), 2);
    Deno.removeSync(join(root, "can0", "statistics", "rx_dropped"));
    nowMs = 2000;
    assert.equal(drops.total(), 2);
    write("statistics/rx_dropped", "1");
    drops.rebase();
    nowMs = 3000;
    assert.equal(drops.total(), 2);
    write("statistics/rx_dropped", "4");
    nowMs = 4000;
    assert.equal(drops.total(), 5);
  }));

Deno.test(
  "the last word on lost frames does not wait for the second to pass",
  options,
  () =>
    withInterface((root, write) => {
      write("ifindex", "7");
      write("statistics/rx_dropped", "10");
      const drops = new InterfaceDrops("can0", { clock: { monoMs: () => 0, wallUs: () => 0 }, root });
      drops.rebase();
      write("statistics/rx_dropped", "12");
      assert.equal(drops.total(), 0);
      assert.equal(drops.totalNow(), 2);
      assert.equal(drops.total(), 2);
    }),
);

Deno.test(
  "frames lost by another interface of the same name are not counted",
  options,
  () =>
    withInterface((root, write) => {
      write("ifindex", "7");
      write("statistics/rx_dropped", "10");
      const drops = new InterfaceDrops("can0", { clock: { monoMs: () => 0, wallUs: () => 0 }, root });
      drops.rebase();
      write("ifindex", "8");
      write("statistics/rx_dropped", "15");
      assert.equal(drops.totalNow(), 0);
      drops.rebase();
      write("statistics/rx_dropped", "16");
      assert.equal(drops.totalNow(), 1);
    }),
);
