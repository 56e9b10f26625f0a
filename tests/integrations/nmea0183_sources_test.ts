import assert from "node:assert/strict";
import { idsOf, rad, TestFeed } from "../support/nmea0183.ts";

Deno.test("of two devices the preferred one is sent, and the other one after it is silent", () => {
  using feed = new TestFeed();
  const depths = (): string[] => feed.lines().filter((line) => line.includes("DPT")).map((line) => line.split(",")[1]!);
  for (let i = 0; i < 10; i++) {
    feed.say(128267, { depth: 10 + i, offset: 0 }, 7);
    feed.say(128267, { depth: 90, offset: 0 }, 8);
    assert.deepEqual(depths(), [`${10 + i}.00`]);
    feed.clock.advance(1000);
  }
  feed.clock.advance(3000);
  feed.say(128267, { depth: 90, offset: 0 }, 8);
  assert.deepEqual(depths(), ["90.00"]);
});

/** What a plotter says of its active leg: the error and the bearing in degrees, and the name of its destination. */
function sayLeg(
  feed: TestFeed,
  { src, bearing, xte, name, navTerm = 0 }: {
    src: number;
    bearing?: number;
    xte?: number;
    name?: string;
    navTerm?: number;
  },
): void {
  const waypoints = [{ id: 5, name, latitude: 54, longitude: 10 }];
  if (xte !== undefined) feed.say(129283, { xte_mode: 0, nav_term: navTerm, xte: xte * 1852 }, src);
  if (name !== undefined) feed.say(129285, { start_rps: 0, route_id: 1, route_name: "", waypoints }, src);
  if (bearing === undefined) return;
  const to = { bearing_origin_to_dest: rad(bearing), bearing_position_to_dest: rad(bearing), dest_wp_number: 5 };
  feed.say(129284, { distance_to_wp: 1852, bearing_reference: "true", calc_type: 0, ...to }, src);
}

/** Error, side, bearing and destination of APB, then the other sentences of the leg; empty without APB. */
function legSaid(feed: TestFeed): string[] {
  const lines = feed.lines();
  const [, , , error = "", side = "", , , , , , name = "", bearing = ""] =
    lines.find((line) => line.includes("APB"))?.split(",") ?? [];
  const others = idsOf(lines).filter((id) => ["RMB", "XTE", "BWC"].includes(id));
  return error === "" ? others : [error + side, bearing, name, ...others];
}

Deno.test("a leg is that of one plotter: no other one adds its cross-track error, its names or its end", () => {
  using apart = new TestFeed();
  sayLeg(apart, { src: 7, xte: 0.1, name: "SEVEN" });
  sayLeg(apart, { src: 8, bearing: 80 });
  assert.deepEqual(legSaid(apart), ["BWC"], "error and bearing of two devices");

  using both = new TestFeed();
  sayLeg(both, { src: 6, bearing: 60, name: "SIX" });
  sayLeg(both, { src: 7, xte: 0.1, name: "SEVEN", navTerm: 1 });
  sayLeg(both, { src: 8, xte: -0.2, bearing: 80, name: "EIGHT" });
  assert.deepEqual(legSaid(both), ["0.200R", "80.0", "EIGHT", "RMB", "BWC", "XTE"], "one that sends both is preferred");

  sayLeg(both, { src: 8, xte: -0.2, bearing: 80, navTerm: 1 });
  both.clock.advance(1000);
  assert.deepEqual(legSaid(both), [], "its navigation has ended");
});

Deno.test("a leg stays with its plotter while that one sends it, then goes to another", () => {
  using feed = new TestFeed();
  const heard: string[][] = [];
  for (let second = 0; second < 20; second++) {
    if (second > 0) sayLeg(feed, { src: 6, bearing: 60, xte: 0.6 });
    if (second < 10) sayLeg(feed, { src: 7, bearing: 70, xte: 0.7 });
    sayLeg(feed, { src: 8, bearing: 80, xte: 0.8 });
    heard.push(legSaid(feed).slice(0, 2));
    feed.clock.advance(1000);
  }
  assert.deepEqual(new Set(heard.slice(0, 10).map(String)), new Set(["0.700L,70.0"]));
  assert.deepEqual(heard.at(-1), ["0.800L", "80.0"], "of those that are left the first-heard one");
});

Deno.test("a leg keeps the names of its waypoints when the NAME of the plotter becomes known", () => {
  using feed = new TestFeed();
  sayLeg(feed, { src: 7, bearing: 70, xte: 0.7, name: "KIEL" });
  feed.claim(7);
  sayLeg(feed, { src: 7, bearing: 70 });
  assert.deepEqual(legSaid(feed), ["0.700L", "70.0", "KIEL", "RMB", "BWC", "XTE"]);
});

Deno.test("the time of a position is that of its device, in whichever message that one sends it", () => {
  const clock = { days_since_1970: 20455, seconds_today: 3723.5 };
  const position = { latitude: 54, longitude: 10 };
  const other = { ...clock, ...position, seconds_today: 7200, gnss_method: 1, gnss_type: 0 };
  const times = (pgn: number, fields: Record<string, unknown>) => {
    using feed = new TestFeed();
    feed.say(129025, position, 7);
    feed.say(129029, other, 8);
    feed.say(126992, { ...clock, seconds_today: 10_800 }, 9);
    feed.say(pgn, fields, 7);
    const lines = feed.lines().map((line) => line.split(","));
    return ["RMC", "GGA", "GLL", "ZDA"].map((id) => lines.find(([name]) => name?.endsWith(id))?.[id === "GLL" ? 5 : 1]);
  };
  const own = ["010203.50", "010203.50", "010203.50", "010203.50"];
  assert.deepEqual(times(129029, { ...other, ...clock }), own);
  assert.deepEqual(times(126992, clock), own);
  assert.deepEqual(times(129033, { date: "2026-01-02", time: "01:02:03.5", local_offset: 3600 }), own);
  assert.deepEqual(times(129026, { sog: 1 }), own.map(() => "020000.00"), "it sends no time: that of another one");
});

Deno.test("the mode of course and speed is that of their device", () => {
  using feed = new TestFeed();
  const gnss = { latitude: 54, longitude: 10, gnss_type: 0 };
  feed.say(129029, { ...gnss, gnss_method: 0 }, 7);
  feed.say(129026, { sog: 3, cog: 1, cog_reference: "true" }, 8);
  feed.say(129029, { ...gnss, gnss_method: 2 }, 8);
  assert.match(feed.lines().find((line) => line.includes("VTG")) ?? "", /,K,D\*/);
});

Deno.test("the course of a VTG is that of the device of its speed, by both references", () => {
  using feed = new TestFeed();
  feed.say(127258, { source: "true", variation: rad(4) });
  const magnetic = { sog: 3, cog: rad(200), cog_reference: "magnetic" };
  feed.say(129026, magnetic, 7);
  const course = () => feed.lines().find((line) => line.includes("VTG"))?.split(",").slice(1, 5).join();
  assert.equal(course(), "204.0,T,200.0,M");
  feed.clock.advance(1000);
  feed.say(129026, magnetic, 7);
  feed.say(129026, { sog: 3, cog: rad(10), cog_reference: "true" }, 8);
  assert.equal(course(), "204.0,T,200.0,M");
  feed.clock.advance(30_000);
  feed.say(127258, { source: "true", variation: rad(4) });
  feed.say(129026, { sog: 3, cog: rad(10), cog_reference: "true" }, 8);
  assert.equal(course(), "10.0,T,6.0,M");
});

Deno.test("the wind of an MWD is that of one device", () => {
  using feed = new TestFeed();
  feed.say(127258, { source: "true", variation: rad(4) });
  feed.say(130306, { wind_speed: 5, wind_angle: rad(200), wind_reference: "magnetic_north" }, 7);
  feed.say(130306, { wind_speed: 9, wind_angle: rad(10), wind_reference: "true_north" }, 8);
  assert.match(feed.lines().find((line) => line.includes("MWD")) ?? "", /MWD,10\.0,T,6\.0,M,17\.49,N,9\.00,M/);
});
