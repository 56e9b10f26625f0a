// The history under measurement: the boat's API over the journal in a directory. Prints its port, and waits to be ended.
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { TestApi } from "../support/history.ts";

const [directory = "."] = Deno.args;
const index = await JournalIndex.open(directory, { log: silentLogger });
const api = new TestApi({ index, clock: systemClock });
const server = Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: () => {},
  handler: (request) => api.fetch(request.url.slice(new URL(request.url).origin.length)),
});
console.log(server.addr.port);
