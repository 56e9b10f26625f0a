// deno task bench [core|decode|where|changes|doctor|doctor-server|dump|export|verify|query|journal|history|past|past-year|series|month|streams|signalk|outputs|send|gateway|replicas|replication|outage|soak|store|store-read|nodes|nodes-fleet|page|page-heap] [--quick]:
// one JSON line a figure. `month` (of series) takes a quarter of an hour and `past-year` half an hour, both some GB of disk, `soak` takes ten minutes, `outage` some and root, `store` eight and Ceph, `store-read`, `nodes` and `nodes-fleet` some and Ceph, `page` six and a browser, `page-heap` half an
// hour and a browser: they run only when named. `doctor-server` takes five minutes. `--quick` makes `send` shorter.
import { changesBench } from "./changes_bench.ts";
import { coreBench } from "./core_bench.ts";
import { decodeBench } from "./decode_bench.ts";
import { doctorBench } from "./doctor_bench.ts";
import { doctorServerBench } from "./doctor_server_bench.ts";
import { dumpBench } from "./dump_bench.ts";
import { exportBench } from "./export_bench.ts";
import { gatewayBench } from "./gateway_bench.ts";
import { historyBench } from "./history_bench.ts";
import { journalBench } from "./journal_bench.ts";
import { nodesBench, nodesFleetBench } from "./nodes_bench.ts";
import { pastBench } from "./past_bench.ts";
import { pageBench, pageHeapBench } from "./page_bench.ts";
import { queryBench } from "./query_bench.ts";
import { replicasBench } from "./replicas_bench.ts";
import { outageBench, replicationBench } from "./replication_bench.ts";
import { sendBench } from "./send_bench.ts";
import { seriesBench } from "./series_bench.ts";
import { outputsBench, signalkBench } from "./outputs_bench.ts";
import { storeBench, storeReadBench } from "./store_bench.ts";
import { soakBench, streamBench } from "./stream_bench.ts";
import { verifyBench } from "./verify_bench.ts";
import { whereBench } from "./where_bench.ts";

const usual = [
  "core",
  "decode",
  "where",
  "changes",
  "doctor",
  "doctor-server",
  "dump",
  "export",
  "verify",
  "query",
  "journal",
  "history",
  "past",
  "series",
  "streams",
  "signalk",
  "outputs",
  "send",
  "gateway",
  "replicas",
  "replication",
];
const parts = [
  ...usual,
  "past-year",
  "month",
  "outage",
  "soak",
  "store",
  "store-read",
  "nodes",
  "nodes-fleet",
  "page",
  "page-heap",
];
const QUICK = "--quick";
const quick = Deno.args.includes(QUICK);
const named = Deno.args.filter((part) => part !== QUICK);
const wanted = named.length > 0 ? named : usual;
if (!wanted.every((part) => parts.includes(part))) {
  console.error(`bench: known parts are ${parts.join(", ")}`);
  Deno.exit(2);
}
if (wanted.includes("core")) coreBench();
if (wanted.includes("decode")) await decodeBench();
if (wanted.includes("where")) await whereBench();
if (wanted.includes("changes")) await changesBench();
if (wanted.includes("doctor")) doctorBench();
if (wanted.includes("doctor-server")) await doctorServerBench();
if (wanted.includes("dump")) await dumpBench();
if (wanted.includes("export")) await exportBench();
if (wanted.includes("verify")) await verifyBench();
if (wanted.includes("query")) await queryBench();
if (wanted.includes("journal")) await journalBench();
if (wanted.includes("history")) await historyBench();
if (wanted.includes("past")) await pastBench({ isYear: false });
if (wanted.includes("past-year")) await pastBench({ isYear: true });
if (wanted.includes("series")) await seriesBench({ days: 1 });
if (wanted.includes("month")) await seriesBench({ days: 30 });
if (wanted.includes("streams")) await streamBench();
if (wanted.includes("signalk")) await signalkBench();
if (wanted.includes("outputs")) await outputsBench();
if (wanted.includes("send")) await sendBench({ quick });
if (wanted.includes("gateway")) await gatewayBench();
if (wanted.includes("replicas")) await replicasBench();
if (wanted.includes("replication")) await replicationBench();
if (wanted.includes("outage")) await outageBench();
if (wanted.includes("soak")) await soakBench();
if (wanted.includes("store")) await storeBench();
if (wanted.includes("store-read")) await storeReadBench();
if (wanted.includes("nodes")) await nodesBench();
if (wanted.includes("nodes-fleet")) await nodesFleetBench({ boats: 1000 });
if (wanted.includes("page")) await pageBench();
if (wanted.includes("page-heap")) await pageHeapBench({ minutes: 30 });
Deno.exit(0);
