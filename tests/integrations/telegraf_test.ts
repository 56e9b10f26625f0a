import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { Mosquitto, MqttSubscriber } from "../support/mosquitto.ts";
import { needs } from "../support/needs.ts";
import { blockAfter } from "../support/pages.ts";
import { TestBridge } from "./mqtt_setup.ts";

const NEEDS = needs({
  permissions: ["net", "env", "sys", "write"],
  programs: ["mosquitto", "mosquitto_sub", "mosquitto_passwd", "python3"],
});
/** Prints a TOML file as JSON. */
const TOML_TO_JSON = "import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))";

interface Consumer {
  topics: string[];
  topic_parsing: { topic: string; tags: string }[];
  json_v2: { timestamp_path: string; object: { path: string; tags?: string[] }[] }[];
}

async function parseToml(text: string): Promise<{ inputs: { mqtt_consumer: Consumer[] } }> {
  const child = new Deno.Command("python3", { args: ["-c", TOML_TO_JSON], stdin: "piped", stdout: "piped" }).spawn();
  await new Blob([text]).stream().pipeTo(child.stdin);
  return await new Response(child.stdout).json();
}

Deno.test(
  "the page's configuration of Telegraf finds topic, time and fields of what is published",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const toml = await blockAfter("InfluxDB by Telegraf", { page: "docs/integrations.md", language: "toml" });
      const { inputs: { mqtt_consumer: [consumer] } } = await parseToml(toml);
      const [parsing, json, filter] = [consumer?.topic_parsing[0], consumer?.json_v2[0], consumer?.topics[0]];
      assert.ok(parsing && json && filter);
      await using mosquitto = await Mosquitto.start(folder);
      await using subscriber = await MqttSubscriber.of(mosquitto);
      await using boat = await TestBridge.start({ url: mosquitto.url, pgnTopics: true, decode: true });
      await eventually("the connection", () => boat.isUp);
      boat.say(1, { pgn: 127250, src: 7, data: [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfc] });
      const published = () => subscriber.messages.find(({ topic }) => topic.startsWith("vbg/pgn/"));
      await eventually("the message", published);
      const { topic = "", payload = "{}" } = published() ?? {};
      const parts = topic.split("/");
      const fits = (pattern: string) => pattern.split("/").every((part, at) => part === "+" || part === parts[at]);
      assert.ok(fits(filter) && fits(parsing.topic) && filter.split("/").length === parts.length, topic);
      const tags = Object.fromEntries(parsing.tags.split("/").map((name, at) => [name, parts[at]]));
      assert.deepEqual([tags.pgn, tags.src], ["127250", "7"]);
      const message: Record<string, unknown> = JSON.parse(payload);
      assert.match(String(message[json.timestamp_path]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      const fields = message[json.object[0]?.path ?? ""];
      assert.ok(typeof fields === "object" && fields !== null && "heading" in fields && fields.heading === 1);
    }),
);

/** Fields by which a device says what a value is about. */
const ABOUT: Readonly<Record<number, readonly string[]>> = {
  127245: ["instance"],
  127250: ["heading_reference"],
  127488: ["engine_instance"],
  127489: ["engine_instance"],
  127505: ["instance", "fluid_type"],
  127506: ["instance"],
  127508: ["instance"],
  127509: ["ac_instance", "dc_instance"],
  127510: ["battery_instance"],
  129026: ["cog_reference"],
  129038: ["user_id"],
  129039: ["user_id"],
  129794: ["user_id"],
  130306: ["wind_reference"],
  130312: ["instance", "temperature_source"],
  130313: ["humidity_source"],
  130314: ["pressure_source"],
  130316: ["instance", "temperature_source"],
};

Deno.test(
  "by the page's configuration of Telegraf two engines, winds, tanks or ships of one device are two series",
  needs({ permissions: ["read", "run"], programs: ["python3"] }),
  async () => {
    const toml = await blockAfter("InfluxDB by Telegraf", { page: "docs/integrations.md", language: "toml" });
    const { inputs: { mqtt_consumer: [consumer] } } = await parseToml(toml);
    const { tags = [] } = consumer?.json_v2[0]?.object[0] ?? {};
    for (const [pgn, names] of Object.entries(ABOUT)) {
      const decoded = decode(Number(pgn), new Uint8Array(40)) ?? {};
      for (const name of names) assert.ok(name in decoded && tags.includes(name), `${name} of PGN ${pgn}`);
    }
  },
);
