import assert from "node:assert/strict";
import {
  type CompiledFilter,
  compileFilter,
  type Filter,
  type FilterDevice,
  FilterError,
} from "../../src/filter/mod.ts";
import { manufacturerCode } from "../../src/pgn/mod.ts";

const BUSES = ["can0", "can1"];
const GARMIN: FilterDevice = { bus: 0, src: 5, name: 0xc0788200_10e3b99fn, manufacturerCode: 229, deviceInstance: 0 };
const VICTRON: FilterDevice = { bus: 0, src: 6, name: 0x1fn, manufacturerCode: 358, deviceInstance: 7 };

function compile(filter: Filter, devices: FilterDevice[] = []): CompiledFilter {
  const compiled = compileFilter(filter, { buses: BUSES, manufacturerCode });
  for (const device of devices) compiled.learn(device);
  return compiled;
}

/** Sources of bus 0, of those asked about, that a filter lets through. */
function accepted(filter: Filter, devices: FilterDevice[] = [GARMIN, VICTRON]): number[] {
  const { accept } = compile(filter, devices);
  return [5, 6, 7, 254].filter((src) => accept(0, src, 127250));
}

Deno.test("an empty filter, and one whose lists are all empty, accepts every frame of every bus", () => {
  const empty: Filter[] = [{}, {
    pgn: [],
    exclude_pgn: [],
    manufacturer: [],
    instance: [],
    name: [],
    exclude_name: [],
    bus: [],
  }];
  for (const filter of empty) {
    const { accept, usesDevices } = compile(filter);
    for (const bus of [0, 1]) for (const src of [0, 253, 254, 255]) assert.ok(accept(bus, src, 60928));
    assert.equal(usesDevices, false);
  }
});

Deno.test("PGNs are OR'd, and exclusion has the last word", () => {
  const pgnsOf = (filter: Filter) => [127250, 129029, 129540].filter((pgn) => compile(filter).accept(0, 5, pgn));
  assert.deepEqual(pgnsOf({ pgn: [127250, 129029] }), [127250, 129029]);
  assert.deepEqual(pgnsOf({ exclude_pgn: [129029] }), [127250, 129540]);
  assert.deepEqual(pgnsOf({ pgn: [127250, 129029], exclude_pgn: [129029] }), [127250]);
  assert.deepEqual(pgnsOf({ pgn: [129029], exclude_pgn: [129029] }), []);
});

Deno.test("a manufacturer is meant by name in any case, by code and by alias", () => {
  for (const text of ["Garmin", "GARMIN", "garmin", "229"]) {
    assert.deepEqual(accepted({ manufacturer: [text] }), [5], text);
  }
  for (const text of ["Victron Energy", "victron", "358"]) {
    assert.deepEqual(accepted({ manufacturer: [text] }), [6], text);
  }
  assert.deepEqual(accepted({ manufacturer: ["garmin", "358"] }), [5, 6]);
});

Deno.test("a manufacturer that nobody knows matches nothing, and nothing but itself", () => {
  assert.deepEqual(accepted({ manufacturer: ["Nobody"] }), []);
  assert.deepEqual(accepted({ manufacturer: ["Nobody", "garmin"] }), [5]);
});

Deno.test("instances are OR'd and instance 0 is an instance like any other", () => {
  assert.deepEqual(accepted({ instance: [0] }), [5]);
  assert.deepEqual(accepted({ instance: [7] }), [6]);
  assert.deepEqual(accepted({ instance: [0, 7, 252] }), [5, 6]);
});

Deno.test("a NAME is meant with and without 0x, in any case, with and without leading zeros", () => {
  for (const text of ["c078820010e3b99f", "0xC078820010E3B99F", "0Xc078820010e3b99F"]) {
    assert.deepEqual(accepted({ name: [text] }), [5], text);
  }
  for (const text of ["1f", "0x1F", "000000000000001f", "0x1f"]) {
    assert.deepEqual(accepted({ name: [text] }), [6], text);
  }
});

Deno.test("what is no NAME is refused with its field and its text", () => {
  for (const field of ["name", "exclude_name"] as const) {
    for (const text of ["", "0x", "xyz", "12345678901234567"]) {
      assert.throws(() => compile({ [field]: ["1f", text] }), (error: unknown) => {
        assert.ok(error instanceof FilterError);
        assert.equal(error.field, field);
        return error.message.includes(`"${text}"`);
      });
    }
  }
});

Deno.test("different fields are AND'd", () => {
  assert.deepEqual(accepted({ manufacturer: ["garmin"], instance: [0] }), [5]);
  assert.deepEqual(accepted({ manufacturer: ["garmin"], instance: [7] }), []);
  assert.deepEqual(accepted({ name: ["1f"], instance: [7], manufacturer: ["358"], pgn: [127250], bus: ["can0"] }), [6]);
  assert.deepEqual(accepted({ name: ["1f"], pgn: [129029] }), []);
  assert.deepEqual(accepted({ name: ["1f"], bus: ["can1"] }), []);
});

Deno.test("include comes before exclude for NAMEs too", () => {
  const both = ["1f", "c078820010e3b99f"];
  assert.deepEqual(accepted({ name: both, exclude_name: ["1f"] }), [5]);
  assert.deepEqual(accepted({ name: ["1f"], exclude_name: ["1f"] }), []);
});

Deno.test("a source without a NAME passes exclude_name and no including criterion", () => {
  assert.deepEqual(accepted({ exclude_name: ["1f"] }), [5, 7, 254]);
  for (const filter of [{ name: ["0"] }, { instance: [0] }, { manufacturer: ["0"] }]) {
    assert.deepEqual(accepted(filter, []), [], JSON.stringify(filter));
  }
});

Deno.test("buses are meant by name and OR'd; a bus that is not there matches nothing", () => {
  const busesOf = (filter: Filter) => [0, 1, 2].filter((bus) => compile(filter).accept(bus, 5, 127250));
  assert.deepEqual(busesOf({ bus: ["can1"] }), [1]);
  assert.deepEqual(busesOf({ bus: ["can0", "can1"] }), [0, 1]);
  assert.deepEqual(busesOf({ bus: ["can9"] }), []);
  assert.deepEqual(busesOf({ bus: ["can9", "can0"] }), [0]);
  assert.deepEqual(busesOf({ bus: ["CAN0"] }), []);
});

Deno.test("a filter made while nobody is known takes effect when claims arrive", () => {
  const { accept, learn, usesDevices } = compile({ manufacturer: ["garmin"] });
  assert.equal(usesDevices, true);
  assert.equal(accept(0, 5, 127250), false);
  learn(GARMIN);
  assert.equal(accept(0, 5, 127250), true);
  assert.equal(accept(0, 6, 127250), false);
});

Deno.test("a device that moves is found at its new address, and its old one is kept until another NAME claims it", () => {
  const { accept, learn } = compile({ name: ["0xc078820010e3b99f"] });
  learn(GARMIN);
  learn({ ...GARMIN, src: 30 });
  assert.deepEqual([accept(0, 5, 127250), accept(0, 30, 127250)], [true, true]);
  learn({ ...VICTRON, src: 5 });
  assert.deepEqual([accept(0, 5, 127250), accept(0, 30, 127250)], [false, true]);
});

Deno.test("two devices that swap addresses are told apart afterwards", () => {
  const { accept, learn } = compile({ exclude_name: ["1f"] }, [GARMIN, VICTRON]);
  learn({ ...GARMIN, src: 6 });
  learn({ ...VICTRON, src: 5 });
  assert.deepEqual([accept(0, 5, 127250), accept(0, 6, 127250)], [false, true]);
});

Deno.test("the same source on another bus is another device", () => {
  const { accept, learn } = compile({ manufacturer: ["garmin"] });
  learn({ ...GARMIN, bus: 1 });
  assert.deepEqual([accept(0, 5, 127250), accept(1, 5, 127250)], [false, true]);
  learn({ ...VICTRON, bus: 0, src: 5 });
  assert.equal(accept(1, 5, 127250), true);
});

Deno.test("a filter says whether it depends on devices", () => {
  for (const filter of [{ manufacturer: ["x"] }, { instance: [1] }, { name: ["1"] }, { exclude_name: ["1"] }]) {
    assert.equal(compile(filter).usesDevices, true, JSON.stringify(filter));
  }
  for (const filter of [{}, { pgn: [1] }, { exclude_pgn: [1] }, { bus: ["can0"] }]) {
    assert.equal(compile(filter).usesDevices, false, JSON.stringify(filter));
  }
});

Deno.test("filters of two clients never share what they have learnt", () => {
  const [one, two] = [compile({ name: ["1f"] }), compile({ name: ["1f"] })];
  one.learn(VICTRON);
  assert.deepEqual([one.accept(0, 6, 1), two.accept(0, 6, 1)], [true, false]);
});
