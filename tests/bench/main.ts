// deno task bench [core|decode|journal|history|streams|soak]: one JSON line a figure. `soak` takes ten
// minutes and runs only when named.
import { coreBench } from "./core_bench.ts";
import { decodeBench } from "./decode_bench.ts";
import { historyBench } from "./history_bench.ts";
import { journalBench } from "./journal_bench.ts";
import { soakBench, streamBench } from "./stream_bench.ts";

const parts = ["core", "decode", "journal", "history", "streams", "soak"];
const wanted = Deno.args.length > 0 ? Deno.args : ["core", "decode", "journal", "history", "streams"];
if (!wanted.every((part) => parts.includes(part))) {
  console.error(`bench: known parts are ${parts.join(", ")}`);
  Deno.exit(2);
}
if (wanted.includes("core")) coreBench();
if (wanted.includes("decode")) await decodeBench();
if (wanted.includes("journal")) await journalBench();
if (wanted.includes("history")) await historyBench();
if (wanted.includes("streams")) await streamBench();
if (wanted.includes("soak")) await soakBench();
Deno.exit(0);
