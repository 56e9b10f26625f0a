import assert from "node:assert/strict";
import { type BusSource, BusSourceError, isBusSource, parseBusSource } from "../../../src/can/mod.ts";

const NOTHING = { format: undefined, bus: undefined };

Deno.test("sources are read with their place, format, name and options", () => {
  const cases: Record<string, BusSource> = {
    "tcp://192.168.4.1:1457": {
      ...{ ...NOTHING, type: "tcp", hostname: "192.168.4.1", port: 1457, silenceMs: 30_000, name: "192.168.4.1:1457" },
    },
    "tcp://[fe80::1]:1457?silence=5m&name=wifi0#ydwg": {
      ...{
        ...NOTHING,
        type: "tcp",
        hostname: "fe80::1",
        port: 1457,
        silenceMs: 300_000,
        name: "wifi0",
        format: "ydwg",
      },
    },
    "tcp://pi.local:2599?silence=0&format=candump&bus=can1": {
      ...{ type: "tcp", hostname: "pi.local", port: 2599, silenceMs: 0, name: "pi.local:2599" },
      ...{ format: "candump", bus: "can1" },
    },
    "udp://:2000": { ...NOTHING, type: "udp", hostname: undefined, port: 2000, listenPort: 2000, name: "udp:2000" },
    "udp://10.0.0.9:2000?listen=2001#ydwg": {
      ...{ ...NOTHING, type: "udp", hostname: "10.0.0.9", port: 2000, listenPort: 2001, name: "10.0.0.9:2000" },
      format: "ydwg",
    },
    "serial:///dev/ttyUSB0#actisense": {
      ...{ ...NOTHING, type: "serial", path: "/dev/ttyUSB0", baud: 115_200, name: "ttyUSB0", format: "actisense" },
    },
    "serial:///dev/serial/by-id/usb-DY?name=dy#ikonvert": {
      ...{
        ...NOTHING,
        type: "serial",
        path: "/dev/serial/by-id/usb-DY",
        baud: 230_400,
        name: "dy",
        format: "ikonvert",
      },
    },
    "serial:///dev/ttyS1?baud=38400": {
      ...{ ...NOTHING, type: "serial", path: "/dev/ttyS1", baud: 38_400, name: "ttyS1" },
    },
    "file:///logs/trip.log": { ...NOTHING, type: "file", path: "/logs/trip.log", speed: 1, name: "trip.log" },
    "./trip.raw?speed=10#csv": {
      ...{ ...NOTHING, type: "file", path: "./trip.raw", speed: 10, name: "trip.raw", format: "csv" },
    },
    "/logs/trip.log": { ...NOTHING, type: "file", path: "/logs/trip.log", speed: 1, name: "trip.log" },
  };
  for (const [text, source] of Object.entries(cases)) {
    assert.ok(isBusSource(text), text);
    assert.deepEqual(parseBusSource(text), source, text);
  }
});

Deno.test("names of interfaces are no sources", () => {
  for (const name of ["can0", "vcan1", "slcan0", "can0.1"]) assert.ok(!isBusSource(name), name);
});

Deno.test("what is wrong with a source is said with the source", () => {
  const cases: Record<string, RegExp> = {
    "http://host:80": /expected tcp:\/\/host:port/,
    "tcp://": /expected tcp/,
    "tcp://host": /expected host:port, port 1 to 65535/,
    "tcp://host:0": /port 1 to 65535/,
    "tcp://host:70000": /port 1 to 65535/,
    "tcp://:2000": /expected host:port/,
    "tcp://host:1#ydraw": /unknown format "ydraw"; expected candump, ydwg/,
    "tcp://host:1?baud=9600": /unknown parameter "baud"; expected name, format, bus, silence/,
    "tcp://host:1?silence=soon": /silence: .*soon/,
    "tcp://host:1?name=a%20b": /"a b" is not a bus name/,
    "udp://host:1?listen=x": /listen "x" is not a port/,
    "serial://dev/tty": /path of a device/,
    "serial:///dev/tty?baud=1": /baud "1" is not one of 4800/,
    "file:///a?speed=-1": /speed "-1" is not 0 or more/,
    "file:///a/": /"" is not a bus name/,
  };
  for (const [text, message] of Object.entries(cases)) {
    assert.throws(() => parseBusSource(text), (error) => {
      assert.ok(error instanceof BusSourceError, text);
      assert.ok(error.message.startsWith(`Cannot use the bus "${text}": `), error.message);
      assert.match(error.message, message);
      return true;
    });
  }
});
