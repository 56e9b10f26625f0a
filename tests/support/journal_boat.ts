import { systemClock } from "../../src/base/mod.ts";
import type { ObjectStore } from "../../src/object_store/mod.ts";
import { Authority } from "../../src/pki/mod.ts";
import { eventually } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";
import { journalFiles } from "./journal_run.ts";
import { readLpj } from "./minimal_lpj_reader.ts";
import { START_MS, TestProgram } from "./program.ts";
import { BusFeed } from "./replication_feed.ts";

/** Messages a second on its bus. */
const RATE = 200;

/** What a boat says of its link. */
interface LinkStatus {
  connected: boolean;
  local_head_seq: number;
  cloud_stored_seq: number | null;
}

/** A boat server with a bus and a journal, as a process that may be killed. */
export class JournalBoat implements AsyncDisposable {
  readonly id: string;
  readonly #folder: string;
  readonly #feed: BusFeed;
  readonly #port = HeldPort.take();
  readonly #flags: readonly string[];
  #program: TestProgram | undefined;

  private constructor(id: string, { folder, flags }: { folder: string; flags: readonly string[] }) {
    this.id = id;
    this.#folder = folder;
    this.#feed = BusFeed.start(`${folder}/truth`);
    this.#feed.rate = RATE;
    this.#flags = flags;
  }

  /** Starts it with a certificate of an authority. */
  static async start(
    id: string,
    { target, authority: directory }: { target: string; authority: string },
  ): Promise<JournalBoat> {
    const folder = await Deno.makeTempDir({ prefix: "vbg_boat_" });
    using authority = await Authority.open(directory, { clock: systemClock });
    const { certPath, keyPath, caPath } = await authority.issueBoat(id, { days: 90, isForced: false });
    const boat = new JournalBoat(id, {
      folder,
      flags: [
        ...["-discovery=false", "-mdns=false", "-state-dir", `${folder}/state`, "-journal-dir", `${folder}/journal`],
        ...["-replication-target", target, "-replication-instance-id", id, "-replication-tls-ca", caPath],
        ...["-replication-tls-cert", certPath, "-replication-tls-key", keyPath],
      ],
    });
    await boat.begin();
    return boat;
  }

  /** Starts it, and waits until it is connected. */
  async begin(): Promise<void> {
    const flags = ["-interface", this.#feed.source, "-listen", `127.0.0.1:${this.#port.port}`, ...this.#flags];
    this.#program = await TestProgram.start("boat", () => flags);
    await eventually(`${this.id} to be connected`, async () => (await this.#status())?.connected, {
      deadlineMs: START_MS,
    });
  }

  /** Kills it as a power cut does. */
  async kill(): Promise<void> {
    this.#program?.signal("SIGKILL");
    await this.#program?.exitCode();
    await this.#program?.[Symbol.asyncDispose]();
    this.#program = undefined;
  }

  /** Ends the traffic on its bus, and waits until the cloud has stored everything; gives how many of its frames it lacks. */
  async missingIn(store: ObjectStore): Promise<{ recorded: number; missing: number }> {
    this.#feed.rate = 0;
    await eventually(`frames of ${this.id} to be stored`, async () => {
      const status = await this.#status();
      return status !== undefined && status.cloud_stored_seq === status.local_head_seq;
    }, { deadlineMs: START_MS });
    await this.kill();
    const stored = new Set<string>();
    for await (const page of store.list({ prefix: `instances/${this.id}/` })) {
      for (const { key } of page) for (const frame of framesOf(await store.get(key))) stored.add(frame);
    }
    const directory = `${this.#folder}/journal`;
    const recorded = new Set<string>();
    for (const name of journalFiles(directory)) {
      for (const frame of framesOf(await Deno.readFile(`${directory}/${name}`))) recorded.add(frame);
    }
    return { recorded: recorded.size, missing: recorded.difference(stored).size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#feed[Symbol.asyncDispose]();
    this.#port[Symbol.dispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #status(): Promise<LinkStatus | undefined> {
    const url = `http://127.0.0.1:${this.#port.port}/replication/status`;
    return await fetch(url).then((answer) => answer.ok ? answer.json() : undefined, () => undefined);
  }
}

/** The frames of a journal file as texts. */
function framesOf(bytes: Uint8Array): string[] {
  return readLpj(bytes).blocks.flatMap(({ frames }) =>
    frames.map(({ seq, timeUs, prio, pgn, src, dst, data }) => `${seq} ${timeUs} ${prio} ${pgn} ${src} ${dst} ${data}`)
  );
}
