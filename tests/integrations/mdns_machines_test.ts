import assert from "node:assert/strict";
import { type FoundBoat, readService } from "../../src/integrations/mdns/browse.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { Machines, mayMakeMachines } from "./mdns_machines.ts";
import {
  checkInstanceName,
  freeName,
  hostOf,
  instanceNameOf,
  MAX_LABEL_BYTES,
} from "../../src/integrations/mdns/name.ts";

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

const bytes = (text: string) => new TextEncoder().encode(text).length;

Deno.test("a free name is kept, whatever else there is", () => {
  assert.equal(freeName("Aurora", []), "Aurora");
  assert.equal(freeName("Aurora", ["Borealis", "Aurora (2)"]), "Aurora");
});

Deno.test("a taken name gets the lowest number that is free, in any case of letters", () => {
  assert.equal(freeName("Aurora", ["aurora"]), "Aurora (2)");
  assert.equal(freeName("Aurora", ["AURORA", "aurora (2)", "Aurora (4)"]), "Aurora (3)");
  const taken = Array.from({ length: 11 }, (_, i) => i === 0 ? "a" : `a (${i + 1})`);
  assert.equal(freeName("a", taken), "a (12)");
});

Deno.test("a numbered name is no longer than DNS allows, and is cut between letters", () => {
  for (const letter of ["a", "é", "船", "⛵"]) {
    const long = letter.repeat(Math.floor(MAX_LABEL_BYTES / bytes(letter)));
    const name = freeName(long, [long]);
    assert.ok(bytes(name) <= MAX_LABEL_BYTES, name);
    assert.match(name, new RegExp(`^(?:${letter})+ \\(2\\)$`, "u"));
  }
});

Deno.test("the host of a name is one that DNS resolvers take", () => {
  assert.equal(hostOf("boat-002"), "vbg-boat-002.local");
  assert.equal(hostOf("boat-002 (2)"), "vbg-boat-002-2.local");
  assert.equal(hostOf("Étoile  du Nord!"), "vbg-etoile-du-nord.local");
  assert.equal(hostOf("船"), "vbg.local");
  assert.ok(bytes(hostOf("x".repeat(63))) <= MAX_LABEL_BYTES + ".local".length);
});

Deno.test("names that DNS cannot carry are refused with the reason", () => {
  assert.equal(checkInstanceName("Étoile du Nord"), undefined);
  assert.equal(checkInstanceName("x".repeat(63)), undefined);
  assert.match(checkInstanceName("x".repeat(64)) ?? "", /at most 63 bytes/);
  assert.match(checkInstanceName("é".repeat(32)) ?? "", /at most 63 bytes/);
  assert.match(checkInstanceName("  ") ?? "", /must not be empty/);
  assert.match(checkInstanceName("a.b") ?? "", /no dots/);
  assert.match(checkInstanceName("a\nb") ?? "", /control/);
});

Deno.test("the name of a machine gives an instance name that may be used", () => {
  assert.equal(instanceNameOf("boat.example.com"), "boat");
  for (const hostname of ["", " ", ".", "x".repeat(200)]) {
    assert.equal(checkInstanceName(instanceNameOf(hostname)), undefined);
  }
});

Deno.test("a found boat's address is one that can be used from elsewhere", () => {
  const service = { name: "a", host: "vbg-a.local", port: 8089 };
  const addresses = ["fe80::1", "fd00::2", "192.0.2.2", "192.0.2.2"];
  assert.deepEqual(readService({ ...service, addresses }).addresses, ["192.0.2.2", "fd00::2"]);
  assert.equal(readService({ ...service, addresses, txt: { tls: "1" } }).url, "https://192.0.2.2:8089");
  assert.equal(readService({ ...service, addresses: ["fd00::2"] }).url, "http://[fd00::2]:8089");
  assert.equal(readService({ ...service, addresses: ["fe80::1"] }).url, "http://vbg-a.local:8089");
});
