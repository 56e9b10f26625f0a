// The series under measurement: the boat's API over the journal in a directory. Prints its port, and waits to be ended.
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { DEFAULT_SERIES_PGNS, SeriesRollup } from "../../src/series/mod.ts";
import { TestApi } from "../support/history.ts";

const [directory = "."] = Deno.args;
const index = await JournalIndex.open(directory, { log: silentLogger });
const decoder = new Decoder();
const rollup = new SeriesRollup({ index, pgns: DEFAULT_SERIES_PGNS, buses: ["can0"], decoder, log: silentLogger });
const api = new TestApi({ index, rollup, clock: systemClock });
const server = Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: () => {},
  handler: (request) => api.fetch(request.url.slice(new URL(request.url).origin.length)),
});
console.log(server.addr.port);
