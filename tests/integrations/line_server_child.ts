// A line server in a network that has two ports, both taken at first. Prints what happened as JSON.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { Logger } from "../../src/base/mod.ts";
import { LineServer } from "../../src/integrations/line_server.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";

const clock = new FakeClock();
const logged: string[] = [];
const log = new Logger({ format: "json", write: (line) => logged.push(JSON.parse(line).message) });
const receiver = createSocket("udp4");
receiver.bind(0, "127.0.0.1");
await once(receiver, "listening");
const other = createSocket("udp4");
other.bind(0);
await once(other, "listening");

const target = { protocol: "udp", hostname: "127.0.0.1", port: receiver.address().port } as const;
const limits = { maxClients: 1, bufferBytes: 1000 };
const server = new LineServer({ name: "test", targets: [target], limits, clock, log });
await eventually("the failure", () => {
  server.maintain();
  return server.health().status === "degraded";
});
server.send(["line 1\r\n"]);
const before = {
  status: server.health().status,
  address: server.addresses[0] ?? null,
  dropped: server.counters.dropped,
};
other.close();
await eventually("the socket", () => {
  clock.advance(5000);
  server.maintain();
  return server.addresses[0] !== undefined;
});
server.maintain();
const datagram = once(receiver, "message");
server.send(["line 2\r\n"]);
const [bytes] = await datagram;
await eventually("the datagram counted", () => server.counters.sent === 1);
const { sent, dropped } = server.counters;
const after = { status: server.health().status, received: new TextDecoder().decode(bytes), sent, dropped };
server.stop();
receiver.close();
// deno-lint-ignore no-console -- the parent reads it
console.log(JSON.stringify({ before, after, logged }));
