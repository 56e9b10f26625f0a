import assert from "node:assert/strict";

/** A metric as it was told. */
export interface MetricFamily {
  help: string;
  type: string;
  /** Values by their labels, as they are written. */
  samples: Map<string, number>;
}

const LABEL = String.raw`[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(`^([a-zA-Z_:][\\w:]*)(\\{${LABEL}(?:,${LABEL})*\\})? (\\S+)$`);

/** Reads the text format (version 0.0.4) strictly. */
export function parseMetrics(text: string): Map<string, MetricFamily> {
  const families = new Map<string, MetricFamily>();
  const helps = new Map<string, string>();
  let current = "";
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, help, helped] = /^# HELP (\w+) (.+)$/.exec(line) ?? [];
    if (help !== undefined) {
      helps.set(help, helped ?? "");
      continue;
    }
    const [, typed, type] = /^# TYPE (\w+) (counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (typed !== undefined) {
      assert.ok(!families.has(typed), `${typed} is there once`);
      current = typed;
      families.set(typed, { help: helps.get(typed) ?? "", type: type ?? "", samples: new Map() });
      continue;
    }
    const sample = SAMPLE.exec(line);
    assert.ok(sample, `a sample: ${line}`);
    const [, name = "", labels = "", value = ""] = sample;
    const family = families.get(name);
    assert.ok(family && name === current, `${name} has HELP and TYPE before its samples, and they are together`);
    assert.ok(!Number.isNaN(Number(value)) || /^nan$/i.test(value), line);
    assert.ok(!family.samples.has(labels), `${name}${labels} is there once`);
    family.samples.set(labels, Number(value));
  }
  return families;
}
