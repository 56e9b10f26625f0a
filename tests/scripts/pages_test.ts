// Runs the commands of the pages that are written by hand.
import assert from "node:assert/strict";
import { boatProgram } from "../../cli/boat.ts";
import { runCloud } from "../../cli/cloud.ts";
import { program as simulateProgram } from "../../cli/commands/simulate/simulate.ts";
import { Interrupted } from "../../cli/program/interrupt.ts";
import { prepare, type Program, type ProgramContext } from "../../cli/program/program.ts";
import type { FileSettings, ProgramSettings } from "../../cli/settings/common_options.ts";
import type { Output } from "../../cli/program/terminal.ts";
import { runVbg } from "../../cli/vbg.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { blocksOf, type CodeBlock, handWrittenPages, NOT_RUN } from "../support/pages.ts";
import { TestProgram } from "../support/program.ts";
import { ROOT } from "../support/task.ts";

const READ = needs({ permissions: ["read"] });
const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"], programs: ["curl", "sh"] });

/** Blocks that no test can run: how many there are on each page. */
const NOT_RUN_BLOCKS: Readonly<Record<string, number>> = {
  "CONTRIBUTING.md": 1,
  "README.md": 1,
  "docs/guide-boat.md": 2,
  "docs/guide-fleet.md": 1,
  "docs/hardware.md": 1,
  "docs/integrations.md": 1,
  "docs/scale.md": 2,
  "docs/troubleshooting.md": 1,
};

/** Blocks that other tests run: the page, the title, the test, and words of the test by which it finds the block. */
const RUN_ELSEWHERE: readonly (readonly [page: string, heading: string, test: string, words: string])[] = [
  ["README.md", "Quick start", ".ci/run", "deno task test"],
  ["README.md", "Install", "tests/cli/installed_test.ts", "The client `vbg` alone"],
  ["docs/guide-boat.md", "Control access", "tests/scripts/deb_test.ts", "Tokens control who may read"],
  [
    "docs/guide-boat.md",
    "Prove what was recorded",
    "tests/journal/evidence/openssl_test.ts",
    "Prove what was recorded",
  ],
  [
    "docs/guide-developer.md",
    "Reading it from a program",
    "tests/client/platforms_test.ts",
    "Reading it from a program",
  ],
  ["docs/guide-fleet.md", "Certificates", "tests/scripts/deb_test.ts", "Boat and cloud authenticate"],
  ...["Install", "Upgrade", "Roll back", "Make a release"].map((heading) =>
    ["docs/operate.md", heading, "tests/scripts/apt_repository_test.ts", heading] as const
  ),
  ...["Back up a cloud", "Restore a cloud", "A cloud disk lost", "Replace a boat's computer", "Certificates"].map((
    heading,
  ) => ["docs/operate.md", heading, "tests/faults/operate_page_test.ts", heading] as const),
];

/** Words that begin a command that this test runs. */
const COMMAND = /^(?:curl|vbg|vbg-cloud|exec \/usr\/bin\/vbg|deno task (?:boat|cloud|demo|simulate|-q cli)) /;

async function commandBlocks(): Promise<CodeBlock[]> {
  const blocks = (await Promise.all((await handWrittenPages()).map(blocksOf))).flat();
  return blocks.filter(({ language }) => ["sh", "bash", "shell", "console"].includes(language));
}

const isElsewhere = ({ page, heading, code }: CodeBlock) =>
  RUN_ELSEWHERE.some((row) => row[0] === page && row[1] === heading) && !/^deno task -q cli|^curl -N/m.test(code);

/** Commands of a block, one a line, without what continues them and without comments. */
function commandsOf({ code }: CodeBlock): string[] {
  return code.replaceAll(/\\\n\s*/g, "").split("\n")
    .map((line) => line.replace(/(?:^|\s)#(?=\s|!).*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("export "))
    .flatMap((line) => line.startsWith("vbg ") ? line.split(/;\s+/) : [line]);
}

/** Words of a command as a shell splits them, up to a pipe. */
function wordsOf(command: string): string[] {
  const words = Array.from(command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g), ([word]) => word);
  const pipe = words.indexOf("|");
  return words.slice(0, pipe < 0 ? undefined : pipe).map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"));
}

Deno.test(
  "every block of commands is run by a test, or begins with why it is not; those are counted",
  READ,
  async () => {
    const blocks = await commandBlocks();
    assert.ok(blocks.length > 30, `${blocks.length}`);
    const notRun: Record<string, number> = {};
    for (const block of blocks) {
      const { page, heading, code } = block;
      if (code.startsWith(NOT_RUN)) notRun[page] = (notRun[page] ?? 0) + 1;
      else if (!isElsewhere(block)) {
        for (const command of commandsOf(block)) assert.match(`${command} `, COMMAND, `${page}, ${heading}`);
      }
    }
    assert.deepEqual(notRun, NOT_RUN_BLOCKS);
    for (const [page, heading, test, words] of RUN_ELSEWHERE) {
      assert.ok(blocks.some((block) => block.page === page && block.heading === heading), `${page}: ${heading}`);
      assert.ok((await Deno.readTextFile(`${ROOT}${test}`)).includes(words), `${test} does not look for "${words}"`);
    }
  },
);

/** Reads the settings of a program; one that would start has no exit code. */
function preparing<S extends ProgramSettings & Partial<FileSettings>>(program: Program<S>) {
  return async (around: ProgramContext): Promise<number> => {
    const prepared = await prepare(program, around);
    return prepared.kind === "exit" ? prepared.code : -1;
  };
}

/** The machine of the pages: the demo as the guide starts it, and a folder in place of the directories. */
class Machine {
  readonly #url: string;
  readonly #folder: string;

  constructor({ url, folder }: { url: string; folder: string }) {
    this.#url = url;
    this.#folder = folder;
  }

  /** Certificates, as the guide for fleets makes them. */
  async issue(): Promise<void> {
    for (const words of [["init"], ["issue", "-host", "localhost"], ["issue", "aurora"]]) {
      const args = ["ca", ...words, "-ca-dir", `${this.#folder}/ca`];
      await this.#inProcess(args.join(" "), args, { run: runCloud });
    }
  }

  async run(command: string): Promise<void> {
    const [program = "", ...rest] = wordsOf(command.replace(/^deno task (-q )?/, ""));
    const side = command.includes("-replication-tls-") ? "boats/aurora" : "server";
    // What the demo has recorded since its start has every PGN of the examples.
    const night = command.startsWith("vbg query ") ? "state/demo/journal" : "night";
    const words = rest.map((word) => this.#here(word, { side, night }));
    if (program === "curl") return await this.#curl(command);
    if (program === "cli" || program === "vbg") return await this.#vbg(words, command);
    if (program === "exec") return await this.#inProcess(command, [...words.slice(1, -1), "-help"], { run: runVbg });
    if (program === "vbg-cloud") return await this.#inProcess(command, words, { run: runCloud });
    const args = [...words, "-validate-config"];
    if (program === "cloud") return await this.#inProcess(command, args, { run: runCloud });
    if (program === "simulate") {
      return await this.#inProcess(command, [...words, "-help"], { run: preparing(simulateProgram) });
    }
    assert.ok(program === "boat" || program === "demo", command);
    await this.#inProcess(command, args, { run: preparing(boatProgram) });
  }

  /** Paths of the pages are in the folder. */
  #here(word: string, { side, night }: { side: string; night: string }): string {
    const places: Record<string, string> = {
      night,
      "wind.parquet": "wind.parquet",
      "/var/lib/vbg/journal": "night",
      "/var/lib/vbg-cloud": "imported",
      "revoked.txt": "ca/revoked.txt",
    };
    const isExport = /^(?:tables\/|\w+\.(?:csv|parquet|pcap))$/.test(word);
    const place = places[word] ?? (isExport ? word : undefined) ??
      (/^(?:cert|key|ca)\.pem$/.test(word) ? `ca/${side}/${word}` : undefined);
    if (word === "/data/lplex") return `${ROOT}tests/data/lplex_cloud`;
    return place === undefined ? word : `${this.#folder}/${place}`;
  }

  async #curl(command: string): Promise<void> {
    const here = command.replace(/(?:http:\/\/)?(?:127\.0\.0\.1|localhost):8089/, this.#url);
    const child = new Deno.Command("sh", {
      args: ["-c", `exec ${here.replace("curl", "curl -s -S")}`],
      stdout: "piped",
    })
      .spawn();
    let text = "";
    // A stream has no end: it works when something arrives.
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (/ -N /.test(command)) break;
    }
    if (/ -N /.test(command)) {
      child.kill("SIGTERM");
      await child.status;
      assert.match(text, /^(?:data|id|event|:)/, command);
      return;
    }
    assert.equal((await child.status).code, 0, command);
    const isRefused = text.includes("HTTP/1.1 403");
    assert.ok(isRefused ? command.includes("129025") : !/"status":\s*[45]\d\d/.test(text), `${command}: ${text}`);
  }

  async #vbg(words: string[], command: string): Promise<void> {
    const isLive = !words.some((word) =>
      word.startsWith(this.#folder) && word !== words[words.indexOf("-journal") + 1]
    );
    const args = isLive && !words.includes("-h") ? [...words, "-server", this.#url] : words;
    const isEndless = isLive && /^(?:dump|tail|top)$/.test(words[0] ?? "");
    await this.#inProcess(command, args, { run: runVbg, isEndless, codes: words[0] === "doctor" ? [0, 1] : [0] });
  }

  /** Runs a program; one that is endless is ended when it has printed something, and `top` at its second screen. */
  async #inProcess(
    command: string,
    args: readonly string[],
    { run, isEndless = false, codes = [0] }: {
      run: (around: ProgramContext) => Promise<number>;
      isEndless?: boolean;
      codes?: readonly number[];
    },
  ): Promise<void> {
    const stop = new AbortController();
    let [out, err] = ["", ""];
    const print = (text: string) => {
      out += `${text}\n`;
      if (isEndless && out.split("frames/s").length > (args[0] === "top" ? 2 : 0)) {
        stop.abort(new Interrupted("Stopped"));
      }
    };
    const sink: Output = {
      ...{ isTerminal: args[0] === "top", columns: 120, hasColor: false },
      write: print,
      control: print,
      writeBytes: (bytes) => Promise.resolve(print(new TextDecoder().decode(bytes))),
      status: () => {},
      flush: () => Promise.resolve(),
    };
    const errors: Output = { ...sink, isTerminal: false, write: (text) => void (err += text), control: () => {} };
    const code = await run({
      ...{ args, environment: {}, print, printError: (text) => err += `${text}\n`, output: sink, errors },
      stopping: stop.signal,
    });
    assert.ok(codes.includes(code), `${command}: exit code ${code}\n${out}${err}`);
  }
}

Deno.test("the commands of the pages do what they are for, on a simulated boat", RUN, () =>
  inFolder(async (folder) => {
    const blocks = (await commandBlocks()).filter((block) => !block.code.startsWith(NOT_RUN) && !isElsewhere(block));
    const commands = [
      ...new Set(blocks.flatMap(commandsOf).map((command) => command.replace(/^deno task -q cli /, "vbg "))),
    ];
    const [demo = ""] = commands.filter((command) => command.startsWith("deno task demo "));
    const flags = wordsOf(demo).slice(3);
    const place = ["-listen", "127.0.0.1:0", "-cloud-port", "0", "-mdns=false", "-log-format", "json"];
    await using boat = await TestProgram.start("demo", () => [...flags, ...place, "-state-dir", `${folder}/state`]);
    const machine = new Machine({ url: await boat.url(), folder });
    await machine.issue();
    // What reads the recording comes after what makes it.
    const isMaker = (command: string) => command.includes("-journal night");
    for (const command of [...commands.filter(isMaker), ...commands.filter((each) => !isMaker(each))]) {
      await machine.run(command);
    }
  }));
