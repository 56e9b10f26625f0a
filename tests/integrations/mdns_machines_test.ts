import assert from "node:assert/strict";
import type { FoundBoat } from "../../src/integrations/mdns/browse.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { Machines, mayMakeMachines } from "./mdns_machines.ts";

const NEEDS = needs({
  permissions: ["env", "write"],
  programs: ["ip", "unshare", "dbus-daemon", "avahi-daemon", "avahi-browse", "avahi-resolve"],
  extras: { "network namespaces": await mayMakeMachines() },
});

/** Lines of `avahi-browse -p`: what, interface, protocol, name, type, domain, host, address, port, text. */
async function browse(machines: Machines, machine: 0 | 1): Promise<string[][]> {
  const text = await machines.output(machine, "avahi-browse", "-p", "-r", "-t", "-k", "_vbg._tcp");
  return text.split("\n").filter((line) => line.startsWith("=")).map((line) => line.split(";"));
}

const announced = (name: string) => JSON.stringify({ type: "announced", name });

Deno.test("avahi on another machine resolves a boat, sees its words, and sees it go", NEEDS, async () => {
  await using machines = await Machines.make("r");
  await machines.connect(0);
  await machines.connect(1);
  await machines.startAvahi(1, "laptop");
  const boat = machines.child(0, "announce", "Étoile du Nord");
  await eventually("the announcement", () => boat.last === announced("Étoile du Nord"));
  const [line] = await eventually("avahi sees the boat", async () => {
    const lines = await browse(machines, 1);
    return lines.length > 0 && lines;
  });
  assert.ok(line);
  assert.equal(line[6], "vbg-etoile-du-nord.local");
  assert.equal(line[7], "10.77.0.1");
  assert.equal(line[8], "8089");
  for (const word of ['"path=/"', '"version=1.2.3"', String.raw`"boat=\195\137toile du Nord"`, '"tls=0"', '"api=1"']) {
    assert.ok(line[9]?.includes(word), `${word} in ${line[9]}`);
  }
  await boat.end();
  await eventually("avahi has forgotten the boat", async () => (await browse(machines, 1)).length === 0);
});

Deno.test("two machines find each other's boats, and one name on both becomes two", NEEDS, async () => {
  await using machines = await Machines.make("t");
  await machines.connect(0);
  await machines.connect(1);
  const first = machines.child(0, "announce", "aurora");
  await eventually("the first", () => first.last === announced("aurora"));
  const second = machines.child(1, "announce", "aurora");
  await eventually("the second", () => second.last === announced("aurora (2)"));
  for (const machine of [0, 1] as const) {
    await eventually("both", async () => {
      const finder = machines.child(machine, "find", "1000");
      await finder.end();
      const boats: FoundBoat[] = JSON.parse(finder.text);
      const found = boats.map(({ name, addresses }) => `${name} at ${addresses[0]}`);
      return found.join() === "aurora at 10.77.0.1,aurora (2) at 10.77.0.2";
    });
  }
});

Deno.test("another machine keeps the host name that a boat has for its name", NEEDS, async () => {
  await using machines = await Machines.make("s");
  await machines.connect(0);
  await machines.connect(1);
  await machines.startAvahi(1, "aurora");
  const addressOf = async (host: string) =>
    (await machines.output(1, "avahi-resolve", "-4", "-n", host)).trim().split(/\s+/)[1];
  await eventually("avahi has its name", async () => await addressOf("aurora.local") === "10.77.0.2");
  const boat = machines.child(0, "announce", "aurora");
  await eventually("the announcement", () => boat.last === announced("aurora"));
  await eventually("avahi sees the boat", async () => await addressOf("vbg-aurora.local") === "10.77.0.1");
  await eventually("the other's own name", async () => await addressOf("aurora.local") === "10.77.0.2");
});

Deno.test("a boat shares its machine with avahi, and both are found", NEEDS, async () => {
  await using machines = await Machines.make("o");
  await machines.connect(0);
  await machines.connect(1);
  await machines.startAvahi(0, "aurora");
  const boat = machines.child(0, "announce", "aurora");
  await eventually("the announcement", () => boat.last === announced("aurora"));
  await eventually("avahi sees the boat", async () => (await browse(machines, 0)).length > 0);
  const resolve = () => machines.output(0, "avahi-resolve", "-4", "-n", "aurora.local");
  await eventually("avahi answers for its own name", async () => (await resolve()).includes("10.77.0.1"));
});

Deno.test("a network that comes later is used, and one that comes back, too", NEEDS, async () => {
  await using machines = await Machines.make("l");
  await machines.connect(1);
  const boat = machines.child(0, "announce", "aurora");
  await machines.ip(0, "link", "set", "eth0", "down");
  await eventually("it waits", () => boat.last.includes("no network"));
  const isFound = async () => {
    const finder = machines.child(1, "find", "500");
    await finder.end();
    return finder.text.includes("10.77.0.1");
  };
  for (let round = 0; round < 2; round++) {
    await machines.ip(0, "link", "set", "eth0", "up");
    await machines.connect(0);
    await eventually("the announcement", () => boat.last === announced("aurora"));
    await eventually("the other machine finds it", isFound);
    await machines.ip(0, "link", "set", "eth0", "down");
    await machines.ip(0, "address", "flush", "dev", "eth0");
    await eventually("it waits again", () => boat.last.includes("no network"));
  }
});
