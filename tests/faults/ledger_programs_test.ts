// The ledgers of a boat and its cloud, as real programs, after faults of all kinds: compared with what was put on the buses
// and with what is in the files of both.
import assert from "node:assert/strict";
import { runCommand } from "../support/command.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { assertBoatLedger, assertCloudLedger } from "../support/ledger_check.ts";
import { LedgerLab } from "../support/ledger_lab.ts";
import { messagesIn } from "../support/ledger_runs.ts";
import { fillDisk, mayMount, onSmallDisk } from "../support/mounts.ts";
import { environment, IS_FULL, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { healthOf, PROCESSES } from "../support/replication_faults.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? rounds(50, 1));
/** Everyday's run with this seed kills the boat and the cloud, and cuts the link. */
const FIRST_SEED = Number(environment("VBG_TEST_SEED") ?? 105);
const FAULTS_PER_ROUND = IS_FULL ? 4 : 3;
const RATE = 500;
/** More than a boat takes into memory while its disk is full, messages. */
const BEYOND_BACKLOG = 90_000;
const SMALL_BLOCKS = ["-journal-block-size", "4096", "-journal-rotate-size", "20KB"];

type Fault = (lab: LedgerLab, random: Random) => Promise<void>;

async function traffic(lab: LedgerLab, messages: number): Promise<void> {
  lab.rate = RATE;
  const until = lab.heard + messages;
  await eventually("traffic", () => lab.heard >= until);
}

/** Waits until all that the boat has is on its disk. */
async function synced(lab: LedgerLab): Promise<void> {
  const head = lab.run.headBefore + lab.heard;
  await eventually(`number ${head} on the boat's disk`, async () => {
    await lab.noteDurable();
    return lab.run.durable === head;
  });
}

/** Ends the boat, under traffic or when everything has come, and starts it again. */
async function boatAgain(
  lab: LedgerLab,
  { how, random }: { how: "SIGKILL" | "SIGTERM"; random: Random },
): Promise<void> {
  const isQuiet = random.chance(0.5);
  await traffic(lab, random.between(50, 800));
  if (isQuiet) {
    await lab.drain();
    await synced(lab);
  } else await lab.noteDurable();
  await lab.endBoat(how);
  await lab.burst(random.between(1, 200));
  await lab.beginBoat();
}

async function cloudAgain(
  lab: LedgerLab,
  { how, random }: { how: "SIGKILL" | "SIGTERM"; random: Random },
): Promise<void> {
  await traffic(lab, random.between(50, 400));
  await lab.lab.end("cloud", how);
  await traffic(lab, random.between(50, 400));
  await lab.lab.begin("cloud");
}

/** A network that swallows or holds everything, for a while. */
async function outage(lab: LedgerLab, { mode, random }: { mode: "hold" | "swallow"; random: Random }): Promise<void> {
  await traffic(lab, random.between(50, 400));
  lab.lab.proxy.mode = mode;
  await traffic(lab, random.between(50, 800));
  lab.lab.proxy.mode = "pass";
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "boat killed": (lab, random) => boatAgain(lab, { how: "SIGKILL", random }),
  "boat restarted": (lab, random) => boatAgain(lab, { how: "SIGTERM", random }),
  "cloud killed": (lab, random) => cloudAgain(lab, { how: "SIGKILL", random }),
  "cloud restarted": (lab, random) => cloudAgain(lab, { how: "SIGTERM", random }),
  "both killed": async (lab, random) => {
    await traffic(lab, random.between(50, 400));
    await lab.noteDurable();
    const isBoatFirst = random.chance(0.5);
    if (isBoatFirst) await lab.endBoat("SIGKILL");
    await lab.lab.end("cloud", "SIGKILL");
    if (!isBoatFirst) await lab.endBoat("SIGKILL");
    await lab.beginBoat();
    await traffic(lab, random.between(1, 200));
    await lab.lab.begin("cloud");
  },
  "link cut": async (lab, random) => {
    for (const how of random.shuffle(["fin", "rst"] as const)) {
      await traffic(lab, random.between(50, 400));
      lab.lab.proxy.cut(how);
    }
  },
  "link held": (lab, random) => outage(lab, { mode: "hold", random }),
  "link dead": (lab, random) => outage(lab, { mode: "swallow", random }),
  "gateway closes": async (lab, random) => {
    await traffic(lab, random.between(50, 400));
    await lab.hangUp(random.int(lab.lab.feeds.length), random.between(0, 6));
    await traffic(lab, random.between(50, 200));
  },
  "cloud away": async (lab, random) => {
    await lab.lab.end("cloud", random.pick(["SIGTERM", "SIGKILL"]));
    await lab.burst(random.between(2000, 12_000));
    await lab.drain();
    await lab.lab.begin("cloud");
  },
  "link held during a backfill": heldBackfill,
};

/** The link stands still while the cloud lacks messages that it knows of: its ledger names them. */
async function heldBackfill(lab: LedgerLab, random: Random): Promise<void> {
  const { proxy } = lab.lab;
  await lab.converged();
  await lab.lab.end("cloud", "SIGTERM");
  const before = messagesIn(lab.cloudFiles).size;
  await lab.burst(random.between(3000, 9000));
  await lab.drain();
  proxy.bytesPerSecond = 10_000;
  await lab.lab.begin("cloud");
  await eventually("the first of them", async () => {
    const status = await lab.lab.cloudStatus();
    return status && status.holes.length > 0 && status.connected;
  });
  await pause(random.int(500));
  proxy.mode = "hold";
  const report = await eventually("a ledger that stays", async () => {
    const one = await lab.ledger("cloud");
    await pause(300);
    const other = await lab.ledger("cloud");
    const isSynced = one.buses[0]?.messages.acknowledged === one.buses[0]?.messages.recorded;
    return isSynced && JSON.stringify(one) === JSON.stringify(other) && one;
  });
  await lab.lab.end("cloud", "SIGTERM");
  const inCloud = new Set(messagesIn(lab.cloudFiles).values());
  assert.ok(inCloud.size >= before);
  lab.noteAll();
  assertCloudLedger(report, { runs: lab.runs, inCloud, reasons: ["link", ...LOST], isConverged: false });
  proxy.bytesPerSecond = 0;
  proxy.mode = "pass";
  await lab.lab.begin("cloud");
}

/** Why messages of the boat may be missing in the cloud, as the boat says it. */
const LOST = [
  "deleted on the boat",
  "deleted on the boat before the cloud stored it",
  "not recorded on the boat",
];

/** A kind of run: how it is set up, and what may happen in it. */
interface Kind {
  buses: number;
  boatFlags: readonly string[];
  disk?: "boat" | "cloud";
  faults: Readonly<Record<string, Fault>>;
  /** Why messages may be missing in the cloud in the end. */
  lost: readonly string[];
}

/** Files are deleted while the cloud is away. */
const LONG_OUTAGE: Fault = async (lab) => {
  await lab.lab.end("cloud", "SIGTERM");
  await lab.burst(12_000);
  await lab.drain();
  await lab.lab.begin("cloud");
};

function fullDisk(side: "boat" | "cloud"): Fault {
  return async (lab, random) => {
    await traffic(lab, random.between(300, 800));
    const filler = fillDisk(side === "boat" ? lab.journal : lab.cloudFiles);
    if (side === "boat") await lab.burst(BEYOND_BACKLOG);
    else await traffic(lab, random.between(1000, 3000));
    await lab.drain();
    if (side === "cloud" && random.chance(0.5)) {
      await lab.lab.end("cloud", "SIGKILL");
      await Deno.remove(filler);
      await lab.lab.begin("cloud");
    } else await Deno.remove(filler);
    if (side === "boat") {
      await eventually(
        "the journal to be written again",
        async () => (await healthOf(lab.lab, "boat")).components["journal"]?.status === "ok",
      );
    }
    await traffic(lab, random.between(50, 200));
    await lab.drain();
    await synced(lab);
  };
}

const PLAIN: Kind = { buses: 1, boatFlags: SMALL_BLOCKS, faults: {}, lost: [] };
const KINDS: readonly Kind[] = [
  PLAIN,
  { ...PLAIN, buses: 2, boatFlags: [] },
  {
    ...PLAIN,
    boatFlags: [...SMALL_BLOCKS, "-journal-retention-max-size", "60KB"],
    faults: { "pruned before it was sent": LONG_OUTAGE },
    lost: LOST.slice(0, 2),
  },
  ...(mayMount()
    ? [
      { ...PLAIN, disk: "cloud" as const, faults: { "cloud's disk full": fullDisk("cloud") } },
      {
        ...PLAIN,
        disk: "boat" as const,
        boatFlags: ["-journal-block-size", "4096", "-journal-backlog-size", "1MiB"],
        faults: { "boat's disk full": fullDisk("boat") },
        lost: LOST.slice(2),
      },
    ]
    : []),
];

/** Lets everything end, and compares all ledgers with what was counted. */
async function assertLedgers(lab: LedgerLab, { lost }: Kind): Promise<void> {
  await lab.converged();
  await lab.stopPolling();
  assert.deepEqual(lab.open, []);
  assert.ok(lab.polls > 0);
  const ofBoat = await lab.ledger("boat");
  const ofCloud = await lab.ledger("cloud");
  const live = new Set(lab.noteFiles().values());
  assert.equal(await lab.lab.end("cloud", "SIGTERM"), 0, lab.lab.log("cloud"));
  const inCloud = new Set(messagesIn(lab.cloudFiles).values());
  assertBoatLedger(ofBoat, { runs: lab.runs, inFiles: live, inCloud, isLive: true });
  await lab.endBoat("SIGTERM");
  const inFiles = new Set(lab.noteFiles().values());
  assertCloudLedger(ofCloud, { runs: lab.runs, inCloud, reasons: lost, isConverged: true });
  const { code, out } = await runCommand(["ledger", lab.journal, "-json"]);
  assert.equal(code, 0, out);
  assertBoatLedger(JSON.parse(out), { runs: lab.runs, inFiles, inCloud: undefined, isLive: false });
}

/** One run of both programs. Gives the names of its faults. */
async function round(folder: string, seed: number): Promise<string[]> {
  const random = new Random(seed);
  const kind = KINDS[seed % KINDS.length]!;
  const { buses, boatFlags, disk, faults } = kind;
  const own = Object.keys(faults);
  const names = [...own, ...random.shuffle(Object.keys(FAULTS)).slice(0, FAULTS_PER_ROUND - own.length)];
  const run = async (directory?: string) => {
    const places = {
      journal: disk === "boat" ? directory : undefined,
      dataDirectory: disk === "cloud" ? directory : undefined,
    };
    await using lab = await LedgerLab.start({ buses, boatFlags, ...places });
    try {
      for (const name of random.shuffle(names)) await (faults[name] ?? FAULTS[name])?.(lab, random);
      await assertLedgers(lab, kind);
    } catch (error) {
      throw new Error(`seed ${seed}: ${names.join(", ")}`, { cause: error });
    }
  };
  if (disk) await onSmallDisk(folder, run, { size: "4m" });
  else await run();
  return names;
}

Deno.test({
  name:
    `the ledgers of boat and cloud close and are what was counted outside, in ${ROUNDS} runs of both programs with ` +
    "kills, cuts, full disks, pruned journals and gateways that close",
  ...PROCESSES,
  fn: async () => {
    const happened = new Set<string>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUNDS; seed++) {
      await inFolder(async (folder) => {
        for (const name of await round(folder, seed)) happened.add(name);
      });
    }
    const all = KINDS.flatMap(({ faults }) => Object.keys(faults)).concat(Object.keys(FAULTS));
    if (ROUNDS >= 50) assert.deepEqual([...happened].sort(), all.sort());
  },
});
