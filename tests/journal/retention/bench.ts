import { Logger } from "../../../src/base/mod.ts";
import { JournalRetention, type JournalRetentionOptions } from "../../../src/journal/retention/journal_retention.ts";
import type { RetentionSettings } from "../../../src/journal/retention/plan.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { readLog, writeScript } from "./script.ts";

/** A directory of journal files with its keeper. */
export class Bench {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly pauses: boolean[] = [];
  readonly open = new Set<string>();
  readonly folder: string;
  readonly directory: string;

  constructor(folder: string) {
    this.folder = folder;
    this.directory = `${folder}/journal`;
    Deno.mkdirSync(this.directory);
  }

  write(...names: string[]): void {
    for (const each of names) Deno.writeFileSync(`${this.directory}/${each}`, new Uint8Array(100));
  }

  /** Names in the directory: markers as a plus behind their file. */
  get names(): string[] {
    const all = [...Deno.readDirSync(this.directory)].map((entry) => entry.name).sort();
    return all.filter((each) => !each.endsWith(".archived") || !all.includes(each.slice(0, -9)))
      .map((each) => all.includes(`${each}.archived`) ? `${each}+` : each);
  }

  keeper(settings: Partial<RetentionSettings>, options: Partial<JournalRetentionOptions> = {}): JournalRetention {
    return new JournalRetention({
      directory: this.directory,
      settings: { softPercent: 80, overflow: "delete-unarchived", archive: "off", ...settings },
      instanceId: "boat",
      isOpen: (each) => this.open.has(each),
      onPause: (isPaused) => this.pauses.push(isPaused),
      log: new Logger({ write: (line) => this.lines.push(line) }),
      clock: this.clock,
      random: () => 0.5,
      ...options,
    });
  }

  /** Runs of the command so far, each as the names that it got. */
  async runs(): Promise<string[][]> {
    return (await readLog(this.folder)).map((line) => line.trim().split(" "));
  }

  script(body: string): Promise<string> {
    return writeScript(this.folder, body);
  }
}
