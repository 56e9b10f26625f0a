/**
 * A process that speaks mDNS, for tests in network namespaces: `announce NAME` writes its state, a line each time that it
 * changes, and stops when its standard input ends; `find MS` writes the boats that it finds, as JSON.
 *
 * @module
 */
import { Logger } from "../../src/base/mod.ts";
import { MdnsAnnouncer } from "../../src/integrations/mdns/mdns.ts";
import { findBoats } from "../../src/integrations/mdns/browse.ts";

const [action, word = ""] = Deno.args;
if (action === "find") {
  console.log(JSON.stringify(await findBoats({ timeoutMs: Number(word) })));
} else {
  const boat = new MdnsAnnouncer({
    name: word,
    listening: { hostname: "::", port: 8089 },
    tls: false,
    version: "1.2.3",
    log: new Logger(),
    retry: { firstMs: 200, capMs: 200 },
    networkCheckMs: 100,
  });
  let told = "";
  const tell = () => {
    const line = JSON.stringify(boat.state);
    if (line !== told) console.log(told = line);
  };
  const timer = setInterval(tell, 10);
  for await (const _ of Deno.stdin.readable);
  await boat.stop();
  clearInterval(timer);
  tell();
}
