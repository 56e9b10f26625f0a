// deno-lint-ignore-file no-console -- a program, which tells what it has received
/**
 * A receiver of transport sessions in a process of its own: `tp_peer.ts INTERFACE ADDRESS WINDOW`. Writes `ready`, and
 * then each message that came whole as a line of JSON. Runs until it is ended.
 *
 * @module
 */
import { SocketCanBus } from "../../src/can/mod.ts";
import { TpReceiver } from "./tp_receiver.ts";

const TICK_MS = 20;

if (import.meta.main) {
  const [name = "", address, window] = Deno.args;
  const receiver = new TpReceiver({ address: Number(address), window: () => Number(window) });
  const bus = new SocketCanBus(name);
  const say = (frames: ReturnType<TpReceiver["tick"]>) => {
    for (const { id, data } of frames) void bus.send(id, Uint8Array.from(data));
    for (const message of receiver.messages.splice(0)) console.log(JSON.stringify(message));
  };
  await bus.open({
    frame: ({ id, data, offset, length, monoMs }) =>
      say(receiver.hear({ id, data: data.slice(offset, offset + length) }, monoMs)),
    state: () => {},
  });
  setInterval(() => say(receiver.tick(performance.now())), TICK_MS);
  console.log("ready");
}
