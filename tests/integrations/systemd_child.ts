/**
 * A service of systemd, for tests: hangs when its standard input says "hang", stops when that ends.
 *
 * @module
 */
import { Logger } from "../../src/base/mod.ts";
import { SystemdNotifier } from "../../src/integrations/systemd/systemd.ts";
import { growing, readNotifySettings } from "../../src/integrations/systemd/watchdog.ts";

const settings = readNotifySettings(Deno.env.toObject(), [Deno.pid]);
if (!settings) throw new Error("No systemd");
let heartbeats = 0;
setInterval(() => heartbeats++, 1);
const systemd = new SystemdNotifier({ settings, probe: growing(() => heartbeats), log: new Logger() });
await systemd.ready("listening on 8089");
for await (const word of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  if (word.startsWith("hang")) { for (;;) heartbeats++; }
}
await systemd.stopping();
Deno.exit(0);
