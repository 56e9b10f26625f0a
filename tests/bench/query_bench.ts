import { HistoryTurns } from "../../src/http/history/turns.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi } from "../support/history.ts";
import { runQuery } from "../support/query.ts";
import { writeDay } from "./day.ts";
import { report } from "./figure.ts";

const QUERIES = [
  {
    name: "query: average wind of each hour of a day",
    sql: "SELECT date_trunc('hour', time) AS hour, avg(wind_speed) FROM wind_data GROUP BY hour",
    bar: "<= 5",
  },
  {
    name: "query: ASOF JOIN of two PGNs of a day",
    sql: "SELECT count(*), avg(w.wind_speed - v.speed_water) FROM wind_data w " +
      "ASOF JOIN speed_water_referenced v ON w.time >= v.time",
  },
];

/** CPU time of this process and of its children that have ended, seconds. */
function cpuSeconds(): number {
  const fields = Deno.readTextFileSync("/proc/self/stat").split(") ")[1]?.split(" ") ?? [];
  const TICKS = 100;
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0) / TICKS;
}

/** `vbg query` on a day of 200 messages a second, and what a server does to send that day as blocks. */
export async function queryBench(): Promise<void> {
  await inFolder(async (folder) => {
    await writeDay(folder);
    await runQuery(["-tables", folder]);
    for (const { name, sql, ...bar } of QUERIES) {
      const before = cpuSeconds();
      const { code, err } = await runQuery([sql, folder]);
      if (code !== 0) throw new Error(err);
      report({ name, value: cpuSeconds() - before, unit: "CPU s", ...bar });
    }
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const api = new TestApi({ index, histories: new HistoryTurns() });
    const before = cpuSeconds();
    let bytes = 0;
    for (let path: string | undefined = "/journal/blocks?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"; path;) {
      const reply: Response = await api.fetch(path);
      bytes += (await reply.arrayBuffer()).byteLength;
      const next: string | undefined = /<([^>]+)>/.exec(reply.headers.get("Link") ?? "")?.[1];
      path = next && `/journal/${next}`;
    }
    report({ name: "blocks of a day, by a server", value: cpuSeconds() - before, unit: "CPU s" });
    report({ name: "blocks of a day, by a server: size", value: bytes / 1e6, unit: "MB" });
  });
}
