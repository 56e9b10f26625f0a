import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { MqttHomeAssistant } from "../../src/integrations/mqtt/home_assistant.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { message } from "../support/messages.ts";

interface Said {
  topic: string;
  payload: string;
  retain: boolean | undefined;
}

function houseOf({ isSlow = false }: { isSlow?: boolean } = {}) {
  const broker = new Broker({ buses: ["can0"] });
  const clock = new FakeClock();
  let said: Said[] = [];
  const house = new MqttHomeAssistant({
    broker,
    clock,
    topicPrefix: "vbg",
    clientId: "vbg boat",
    publish: (topic, payload, { retain, done }) => {
      said.push({ topic, payload, retain });
      if (!isSlow) done?.();
    },
  });
  const say = (pgn: number, data: string, src = 1) =>
    broker.publish(message({ pgn, src, data: Uint8Array.fromHex(data) }));
  const round = () => {
    said = [];
    clock.advance(1000);
    house.publish();
    return said;
  };
  const values = () =>
    Object.fromEntries(
      round().filter(({ retain }) => !retain)
        .map(({ topic, payload }) => [topic.replace("vbg/values/", ""), JSON.parse(payload)]),
    );
  return { broker, house, say, round, values };
}

Deno.test("everything that is worth a place on a wall is shown in the units of a house", () => {
  const { say, values } = houseOf();
  say(129025, "00e1f50540d2d2fe");
  say(129026, "00fc102701020000");
  say(127250, "0010270000ffff00");
  say(128259, "006400ffff00ffff");
  say(128267, "00d20400000000ff");
  say(130306, "0064001027faffff");
  say(130316, "010000b0710400ff");
  say(127508, "00d0040a00f17200");
  say(127506, "00000064ffffffffffff");
  say(127505, "11d4300a000000ff");
  assert.deepEqual(values(), {
    position: { latitude: 10, longitude: -1.9738048 },
    speed_ground: 5.13,
    course_true: 57.3,
    heading_true: 57.3,
    speed_water: 1,
    depth: 12.34,
    wind_speed_apparent: 1,
    wind_angle_apparent: 57.3,
    water_temperature: 18.1,
    battery_voltage_0: 12.32,
    battery_current_0: 1,
    battery_charge_0: 100,
    tank_water_1: 50,
  });
});

Deno.test("each thing is described once a connection, retained, with the state and what the boat's status is", () => {
  const { house, say, round } = houseOf();
  const described = () => round().filter(({ retain }) => retain);
  say(128267, "00d20400000000ff");
  const [first, ...others] = described();
  assert.deepEqual(others, []);
  assert.equal(first?.topic, "homeassistant/sensor/vbg_boat/depth/config");
  assert.deepEqual(JSON.parse(first?.payload ?? ""), {
    name: "Depth below transducer",
    unique_id: "vbg_boat_depth",
    availability_topic: "vbg/status",
    device: { identifiers: ["vbg_boat"], name: "vbg boat", model: "Vessel Bus Gateway" },
    state_topic: "vbg/values/depth",
    state_class: "measurement",
    unit_of_measurement: "m",
    device_class: "distance",
    expire_after: 30,
  });
  say(128267, "00d20400000000ff");
  assert.deepEqual(described(), []);
  house.connected();
  say(128267, "00d20400000000ff");
  assert.equal(described().length, 1);
});

Deno.test("a value is shown once a round at most, and not again when nothing new came", () => {
  const { say, values } = houseOf();
  for (let i = 0; i < 10; i++) say(128267, "00d20400000000ff");
  assert.deepEqual(values(), { depth: 12.34 });
  assert.deepEqual(values(), {});
});

Deno.test("of two devices with the same value one is followed until it is silent for ten seconds", () => {
  const { say, values } = houseOf();
  say(128267, "00d20400000000ff", 5);
  assert.deepEqual(values(), { depth: 12.34 });
  say(128267, "00640000000000ff", 2);
  assert.deepEqual(values(), {});
  for (let second = 0; second < 8; second++) values();
  say(128267, "00640000000000ff", 2);
  assert.deepEqual(values(), { depth: 1 });
});

Deno.test("values that are not available, and water that is not the sea, are not shown", () => {
  const { say, values } = houseOf();
  say(128267, "00ffffffff0000ff");
  say(130316, "010001b0710400ff");
  say(129025, "ffffff7fffffff7f");
  assert.deepEqual(values(), {});
});

Deno.test("while the connection does not take what was published, nothing more is", () => {
  const { house, say, round } = houseOf({ isSlow: true });
  say(128267, "00d20400000000ff");
  assert.equal(round().length, 2);
  say(128267, "00d20400000000ff");
  assert.equal(round().length, 0);
  house.connected();
  assert.equal(round().length, 2);
});

Deno.test("a device that invents tanks without end fills no house", () => {
  const { say, round } = houseOf();
  let described = 0;
  for (let instance = 0; instance < 256; instance++) {
    say(127508, `${instance.toString(16).padStart(2, "0")}d0040a00f17200`);
    described += round().filter(({ retain }) => retain).length;
  }
  assert.equal(described, 200);
});
