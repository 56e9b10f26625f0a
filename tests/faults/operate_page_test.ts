// What docs/operate.md says of boats and a cloud, done with real programs by the page's own commands.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { eventually } from "../support/eventually.ts";
import { environment, needs, SLOW } from "../support/needs.ts";
import { OperatePage } from "../support/operate_page.ts";
import { ReplicationLab } from "../support/replication_lab.ts";
import { taskArgs } from "../support/task.ts";

const PROCESSES = needs({
  permissions: ["run", "read", "write", "net", "env", "sys"],
  programs: ["find", "sh", "tar"],
  extras: SLOW,
});
const MESSAGES = environment("VBG_TEST_FULL") === "1" ? 20_000 : 500;
const NOTHING_WRONG = "missing 0, extra 0, different 0";

/** A lab in place of the machines that the page speaks of. */
class Machines {
  readonly lab: ReplicationLab;
  readonly #page: OperatePage;

  constructor(lab: ReplicationLab, page: OperatePage) {
    this.lab = lab;
    this.#page = page;
  }

  /** Runs the commands under a heading that match, with our processes for services and our folders for directories. */
  async follow(heading: string, { only = /./ }: { only?: RegExp } = {}): Promise<void> {
    const lines = this.#page.commands(heading).filter((line) => only.test(line));
    assert.ok(lines.length > 0, heading);
    for (const line of lines) await this.#run(line);
  }

  async #run(line: string): Promise<void> {
    const [, verb, service] = /^systemctl (stop|start) vbg-(boat|cloud)$/.exec(line) ?? [];
    if (service === "boat" || service === "cloud") {
      if (verb === "stop") assert.equal(await this.lab.end(service, "SIGTERM"), 0);
      else await this.lab.begin(service);
      return;
    }
    const { folder } = this.lab;
    const here = line.replaceAll("/var/lib/vbg-cloud", `${folder}/cloud`).replaceAll("/var/backups", folder)
      // The boat of the test reaches its cloud by its address.
      .replace("-ip 192.0.2.10", "-ip 127.0.0.1")
      .replaceAll("~/vbg-ca", `${folder}/ca`).replaceAll("/tmp/boat", `${folder}/boat`)
      .replace("tar -C / ", `tar -C ${folder} `).replace("etc/vbg var/lib/vbg", "journal state");
    const [program, ...words] = here.split(" ");
    const command = program === "vbg-cloud"
      ? new Deno.Command(Deno.execPath(), { args: taskArgs("cloud", ...words) })
      : new Deno.Command("sh", { args: ["-c", here] });
    const { success, stderr } = await command.output();
    assert.ok(success, `${here}: ${new TextDecoder().decode(stderr)}`);
  }

  async traffic(): Promise<void> {
    const until = this.lab.feed.count + MESSAGES;
    this.lab.feed.rate = 1000;
    await eventually("traffic", () => this.lab.feed.count >= until);
    await this.lab.converged();
  }

  /** Every message that was ever fed is on boat and cloud, once. */
  async allIsThere(): Promise<void> {
    await this.lab.converged();
    const { text, truth, isGood } = await this.lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
    assert.deepEqual([truth?.found, truth?.unrecorded, truth?.doubled], [this.lab.feed.count, 0, 0], text);
  }
}

function onMachines(test: (machines: Machines) => Promise<void>): () => Promise<void> {
  return async () => {
    await using lab = await ReplicationLab.start({ rate: 0, id: "aurora" });
    const machines = new Machines(lab, await OperatePage.read());
    await lab.connected();
    await machines.traffic();
    await test(machines);
  };
}

Deno.test({
  name: "operate: a cloud that was backed up and restored gets again what came after the backup",
  ...PROCESSES,
  fn: onMachines(async (machines) => {
    await machines.follow("Back up a cloud");
    await machines.traffic();
    await machines.follow("Restore a cloud");
    await machines.traffic();
    await machines.allIsThere();
  }),
});

Deno.test({
  name: "operate: a cloud whose disk is lost gets every message again from the boat's journal",
  ...PROCESSES,
  fn: onMachines(async (machines) => {
    await machines.follow("A cloud disk lost");
    await machines.lab.connected();
    await machines.allIsThere();
  }),
});

Deno.test({
  name: "operate: a boat's files moved to another computer go on with their numbers, and no message is lost",
  ...PROCESSES,
  fn: onMachines(async (machines) => {
    const { lab } = machines;
    await machines.follow("Replace a boat's computer", { only: /^systemctl stop|^tar .*-czf/ });
    for (const part of ["journal", "state"]) await Deno.remove(`${lab.folder}/${part}`, { recursive: true });
    await machines.follow("Replace a boat's computer", { only: /^tar .*-xzf|^systemctl start/ });
    await lab.connected();
    await machines.traffic();
    await machines.allIsThere();
  }),
});

Deno.test({
  name: "operate: a boat with a new disk and a new certificate is taken at once, in a new epoch beside the old one",
  ...PROCESSES,
  fn: onMachines(async (machines) => {
    const { lab } = machines;
    await lab.end("boat", "SIGKILL");
    for (const part of ["journal", "state"]) await Deno.remove(`${lab.folder}/${part}`, { recursive: true });
    const before = await Deno.readTextFile(`${lab.folder}/ca/boats/aurora/cert.pem`);
    await machines.follow("Replace a boat's computer", { only: /^vbg-cloud ca/ });
    assert.notEqual(await Deno.readTextFile(`${lab.folder}/ca/boats/aurora/cert.pem`), before);
    await lab.begin("boat");
    await lab.connected();
    await machines.traffic();
    assert.match(lab.log("cloud"), /epoch begins/);
  }),
});

Deno.test({
  name: "operate: the next certificate of a boat and of the cloud is used without a restart",
  ...PROCESSES,
  fn: onMachines(async (machines) => {
    const { lab } = machines;
    const count = (side: "boat" | "cloud", words: RegExp) => lab.log(side).match(words)?.length ?? 0;
    await machines.follow("Certificates");
    const issued = new X509Certificate(await Deno.readTextFile(`${lab.folder}/ca/server/cert.pem`));
    assert.equal(issued.checkIP("127.0.0.1"), "127.0.0.1", "the boat's next connection is to this address");
    await eventually("the cloud's new certificate", () => count("cloud", /certificate replaced/) > 0);
    await lab.connected();
    await machines.traffic();
    await machines.allIsThere();
  }),
});
