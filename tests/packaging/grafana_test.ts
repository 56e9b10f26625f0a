import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const PROCESSES = needs({ permissions: ["run", "read", "write", "net", "env", "sys"] });
const FOLDER = new URL("../../packaging/grafana/", import.meta.url);

interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string; legendFormat: string }[];
}
interface Dashboard {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string; type: string; query: string | { query: string } }[] };
}

/** By metric: the names of the labels of its values. */
type Labels = Map<string, Set<string>>;

async function read(name: string): Promise<Dashboard> {
  return JSON.parse(await Deno.readTextFile(new URL(`${name}.json`, FOLDER)));
}

function labelsOf(metrics: string): Labels {
  const found: Labels = new Map();
  for (const [, name = "", labels = ""] of metrics.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    found.set(name, known);
  }
  return found;
}

/** What a query asks for that the server does not have. */
function missing(text: string, { metrics, legend = "" }: { metrics: Labels; legend?: string }): string[] {
  const names = [...text.matchAll(/\b(?:vbg|process)_[a-z_]+/g)].map(([name]) => name);
  assert.ok(names.length > 0, `no metric in ${text}`);
  // Prometheus adds `instance` and `job` to each.
  const asked = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label)
    .filter((label) => label !== "instance" && label !== "job");
  return names.flatMap((name) => {
    const labels = metrics.get(name);
    if (!labels) return [`metric ${name}`];
    return asked.filter((label) => !labels.has(label)).map((label) => `label ${label} of ${name}`);
  });
}

function assertLaidOut(panels: readonly Panel[]): void {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, "ids are unique");
  const taken = new Set<string>();
  for (const { title, gridPos: { x, y, w, h } } of panels) {
    assert.ok(x >= 0 && x + w <= 24, `${title} is within the 24 columns`);
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        assert.ok(!taken.has(`${column} ${row}`), `${title} covers another panel`);
        taken.add(`${column} ${row}`);
      }
    }
  }
}

Deno.test(
  "every query of the Grafana dashboards asks for metrics and labels that boat and cloud have",
  PROCESSES,
  async () => {
    await using lab = await ReplicationLab.start({ boatFlags: ["-mqtt-broker", "tcp://127.0.0.1:1"] });
    await lab.connected();
    for (const [name, side] of [["boat", "boat"], ["fleet", "cloud"]] as const) {
      const { panels, templating } = await read(name);
      assertLaidOut(panels);
      const faults = (metrics: Labels) => [
        ...panels.flatMap(({ title, targets }) =>
          targets.flatMap(({ expr, legendFormat }) =>
            missing(expr, { metrics, legend: legendFormat }).map((fault) => `${title}: ${fault}`)
          )
        ),
        ...templating.list.filter(({ type }) => type === "query").flatMap(({ query }) =>
          missing(typeof query === "string" ? query : query.query, { metrics })
        ),
      ];
      let found: string[] = [];
      // Some have no value before the first frame.
      await eventually(`what ${name}.json asks for`, async () => {
        found = faults(labelsOf(await lab.text(side, "/metrics") ?? ""));
        return found.length === 0;
      }, { deadlineMs: 30_000 }).catch(() => assert.deepEqual(found, []));
    }
  },
);
