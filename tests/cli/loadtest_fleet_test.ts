import assert from "node:assert/strict";
import { formatTimeUs, parseCanId } from "../../src/frame/mod.ts";
import { connectCloud } from "../../src/client/mod.ts";
import { systemClock } from "../../src/base/mod.ts";
import { Authority, initAuthority } from "../../src/pki/mod.ts";
import { expectedFrame, Fleet } from "../../src/simulation/fleet/mod.ts";
import { framesIn } from "../cloud/cloud_fixture.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs, SLOW } from "../support/needs.ts";
import { START_MS, TestProgram } from "../support/program.ts";

const PERMISSIONS = ["env", "net", "read", "run", "sys", "write"] as const;
const ALL = needs({ permissions: [...PERMISSIONS] });
const SLOW_ALL = needs({ permissions: [...PERMISSIONS], extras: SLOW });
const VALIDITY = { days: 90, isForced: false };
const SEED = 7;

/** A cloud in a process of its own, with an authority. */
class FleetCloud implements AsyncDisposable {
  readonly folder: string;
  readonly #ports: { grpc: HeldPort; http: HeldPort };
  #program: TestProgram | undefined;

  private constructor(folder: string, ports: { grpc: HeldPort; http: HeldPort }) {
    this.folder = folder;
    this.#ports = ports;
  }

  static async start(): Promise<FleetCloud> {
    const folder = await Deno.makeTempDir({ prefix: "vbg_fleet_test_" });
    await makeAuthority(`${folder}/ca`);
    const cloud = new FleetCloud(folder, { grpc: HeldPort.take(), http: HeldPort.take() });
    await cloud.begin();
    return cloud;
  }

  get target(): string {
    return `127.0.0.1:${this.#ports.grpc.port}`;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.http.port}`;
  }

  async begin(): Promise<void> {
    const server = `${this.folder}/ca/server`;
    const program = this.#program = await TestProgram.start("cloud", () => [
      ...["-data-dir", `${this.folder}/data`, "-grpc-listen", this.target, "-http-listen", this.url.slice(7)],
      ...["-tls-cert", `${server}/cert.pem`, "-tls-key", `${server}/key.pem`, "-tls-client-ca", `${server}/ca.pem`],
    ]);
    let isOver = false;
    void program.exitCode().then(() => isOver = true);
    await eventually("the cloud", async () => {
      if (isOver) throw new Error(`The cloud has ended:\n${program.log}`);
      return await fetch(`${this.url}/livez`).then((answer) => answer.text().then(() => answer.ok), () => false);
    }, { deadlineMs: START_MS });
  }

  async kill(how: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#program?.signal(how);
    await this.#program?.exitCode();
    await this.#program?.[Symbol.asyncDispose]();
    this.#program = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]();
    for (const port of Object.values(this.#ports)) port[Symbol.dispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function makeAuthority(directory: string): Promise<void> {
  await initAuthority(directory, { name: "fleet", days: 180, clock: systemClock });
  using authority = await Authority.open(directory, { clock: systemClock });
  await authority.issueServer({ hosts: ["localhost"], ips: ["127.0.0.1"] }, VALIDITY);
}

function startFleet({ target, folder }: FleetCloud, { boats, rate }: { boats: number; rate: number }): Promise<Fleet> {
  return Fleet.start({
    target,
    ids: Array.from({ length: boats }, (_, index) => `boat-${index + 1}`),
    trust: { kind: "authority", directory: `${folder}/ca` },
    seed: SEED,
    rate,
    collectMs: 20,
    clock: systemClock,
    signal: new AbortController().signal,
  });
}

const PATIENT = { graceMs: START_MS, signal: new AbortController().signal };

/** No further frames; waits until the cloud has acknowledged all. */
async function stored(fleet: Fleet): Promise<void> {
  fleet.silence();
  await eventually("all frames to be acknowledged", () => {
    const { made, stored } = fleet.sample();
    return stored === made;
  }, { deadlineMs: START_MS });
}

/** Frames of a boat as its cloud has to report them. */
function wantedHistory({ id, epoch, head }: Fleet["boats"][number]) {
  return Array.from({ length: head }, (_, index) => {
    const { seq, timeUs, canId, data } = expectedFrame(index + 1, { seed: SEED, boat: id, epoch });
    return { seq, ts: formatTimeUs(timeUs), ...parseCanId(canId), data: data.toHex() };
  });
}

async function history(url: string, id: string) {
  const frames = [];
  for await (
    const { seq, ts, prio, pgn, src, dst, data } of connectCloud(url).boat(id).history({ from: new Date(0) })
  ) {
    frames.push({ seq, ts, prio, pgn, src, dst, data });
  }
  return frames;
}

Deno.test("a cloud has exactly the frames of every boat of a fleet", ALL, async () => {
  await using cloud = await FleetCloud.start();
  await using fleet = await startFleet(cloud, { boats: 20, rate: 100 });
  await fleet.connect(PATIENT);
  fleet.begin();
  await eventually("300 frames of each boat", () => fleet.boats.every(({ head }) => head >= 300));
  await stored(fleet);
  assert.equal(fleet.sample().lost, 0);
  for (const boat of fleet.boats) assert.deepEqual(await history(cloud.url, boat.id), wantedHistory(boat));
});

Deno.test(
  "boats of a fleet fill the holes of a cloud that was killed, and its files have every bit of them",
  SLOW_ALL,
  async () => {
    await using cloud = await FleetCloud.start();
    await using fleet = await startFleet(cloud, { boats: 20, rate: 100 });
    await fleet.connect(PATIENT);
    fleet.begin();
    await eventually("200 frames of each boat", () => fleet.boats.every(({ head }) => head >= 200));
    await cloud.kill("SIGKILL");
    const before = fleet.boats.map(({ head }) => head);
    await eventually("100 frames more", () => fleet.boats.every(({ head }, i) => head >= before[i]! + 100));
    await cloud.begin();
    await eventually("all boats to come back", () => fleet.sample().connected === 20, { deadlineMs: START_MS });
    const after = fleet.boats.map(({ head }) => head);
    await eventually("100 frames more", () => fleet.boats.every(({ head }, i) => head >= after[i]! + 100));
    await stored(fleet);
    const { lost, blocks, reconnects } = fleet.sample();
    assert.equal(lost, 0);
    assert.ok(blocks > 0, "missed frames were sent as blocks");
    assert.ok(reconnects >= 20);
    await cloud.kill("SIGTERM");
    for (const { id, epoch, head } of fleet.boats) {
      const found = (await framesIn(`${cloud.folder}/data/${id}`)).map(({ seq, timeUs, id, bus, data }) => {
        return { seq, timeUs, id, bus, data };
      });
      const wanted = Array.from({ length: head }, (_, index) => {
        const { seq, timeUs, canId, data } = expectedFrame(index + 1, { seed: SEED, boat: id, epoch });
        return { seq, timeUs, id: canId, bus: 0, data: data.toHex() };
      });
      assert.deepEqual(found, wanted);
    }
  },
);

Deno.test(
  "vbg loadtest -cloud reports what the cloud has stored, and can test the same boats again",
  SLOW_ALL,
  async () => {
    await using cloud = await FleetCloud.start();
    const words = ["loadtest", "-cloud", cloud.target, "-ca-dir", `${cloud.folder}/ca`, "-boats", "3", "-rate", "500"];
    for (const run of ["first", "second"]) {
      const { code, out, err } = await runCommand([...words, "-duration", "1s", "-grace", "10m", "-verify", cloud.url]);
      const report = JSON.parse(out);
      assert.deepEqual([run, code, report.differences, err], [run, 0, [], err]);
      assert.deepEqual([report.complete, report.missing, report.lost, report.never_connected], [true, 0, 0, 0]);
      assert.ok(report.frames > 0 && report.frames === report.acknowledged);
      const instances = await connectCloud(cloud.url).instances();
      assert.deepEqual(instances.map(({ id }) => id).sort(), ["loadtest-0001", "loadtest-0002", "loadtest-0003"]);
      assert.equal(instances.reduce((sum, { cursor }) => sum + cursor, 0), report.frames);
    }
  },
);

Deno.test("vbg loadtest -cloud takes existing certificates from a folder", SLOW_ALL, async () => {
  await using cloud = await FleetCloud.start();
  using authority = await Authority.open(`${cloud.folder}/ca`, { clock: systemClock });
  for (const id of ["old-0001", "old-0002"]) await authority.issueBoat(id, VALIDITY);
  const { code, out } = await runCommand([
    ...["loadtest", "-cloud", cloud.target, "-cert-dir", `${cloud.folder}/ca/boats`, "-first", "old", "-boats", "2"],
    ...["-duration", "100ms", "-grace", "10m", "-json=false"],
  ]);
  assert.equal(code, 0);
  assert.match(out, /^boats: 2\nframes: \d+ in all/);
});

Deno.test("vbg loadtest -cloud with an authority that the cloud does not trust says so and fails", ALL, async () => {
  await using cloud = await FleetCloud.start();
  await makeAuthority(`${cloud.folder}/other`);
  const { code, out, err } = await runCommand([
    ...["loadtest", "-cloud", cloud.target, "-ca-dir", `${cloud.folder}/other`, "-boats", "2", "-duration", "1s"],
  ]);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /Cannot connect boat "loadtest-0001" to "127\.0\.0\.1:\d+": UNAVAILABLE: .*certificate/);
});

Deno.test("vbg loadtest refuses flags of the other test, and a fleet without certificates", ALL, async () => {
  const refused = async (...words: string[]) => {
    const { code, err } = await runCommand(["loadtest", ...words]);
    assert.equal(code, 2);
    return err;
  };
  assert.match(
    await refused("-cloud", "127.0.0.1:1", "-ca-dir", "ca", "-consumers", "2"),
    /Cannot use -consumers with -cloud/,
  );
  assert.match(await refused("-boats", "2"), /Cannot use -boats without -cloud/);
  assert.match(await refused("-cloud", "127.0.0.1:1"), /give one of -ca-dir and -cert-dir/);
  assert.match(await refused("-cloud", "127.0.0.1:1", "-ca-dir", "/nonexistent"), /Cannot find an authority/);
});
