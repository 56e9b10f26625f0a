// deno-lint-ignore-file no-console -- a program, which tells when it is there
/**
 * The simulated boat on a real CAN, in a process of its own: `twin_peer.ts INTERFACE`. Writes `ready` when it sails, and
 * runs until it is ended.
 *
 * @module
 */
import { systemClock } from "../../src/base/mod.ts";
import { SocketCanBus } from "../../src/can/mod.ts";
import { SimulatedBoat } from "../../src/simulator/mod.ts";

if (import.meta.main) {
  const [name = ""] = Deno.args;
  const bus = new SocketCanBus(name);
  const twin = new SimulatedBoat({ clock: systemClock, send: (id, data) => void bus.send(id, data) });
  await bus.open({ frame: (frame) => twin.receive(frame), state: () => {} });
  twin.start();
  console.log("ready");
}
