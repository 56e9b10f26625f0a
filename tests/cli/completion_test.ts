import assert from "node:assert/strict";
import { completionCommand } from "../../cli/commands/completion/completion.ts";
import type { CommandSet } from "../../cli/program/dispatch.ts";
import { EXIT } from "../../cli/program/program.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { OWN_WORDS } from "../support/own_words.ts";

const BASH = needs({ permissions: ["env", "write", "sys"], programs: ["bash"] });
const ZSH = needs({ permissions: ["env", "write", "sys"], programs: ["zsh"] });
const FISH = needs({ permissions: ["env", "write", "sys"], programs: ["fish"] });
const NEEDS = needs({ permissions: ["env", "sys"] });

/** A client whose commands stay as they are. */
const client: CommandSet = {
  name: "vbg",
  summary: "a client",
  commands: {
    convert: { summary: "makes a journal: of recordings", load: () => import("../../cli/commands/convert/convert.ts") },
    completion: { summary: "prints the completion", load: () => Promise.resolve(completionCommand(client)) },
  },
};

async function runCompletion(args: string[]) {
  const [printed, complaints]: [string[], string[]] = [[], []];
  const around = { environment: {}, print: (text: string) => printed.push(text) };
  const code = await completionCommand(client).run({ ...around, args, printError: (text) => complaints.push(text) });
  return { code, printed: printed.join("\n"), complaints: complaints.join("\n") };
}

/** Lines that a shell prints for a script of its own behind the completion. */
async function inShell(shell: "bash" | "zsh" | "fish", test: string): Promise<string[]> {
  const { printed } = await runCompletion([shell]);
  let lines: string[] = [];
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/completion`, printed);
    await Deno.writeTextFile(`${folder}/a file.lpj`, "");
    await Deno.writeTextFile(`${folder}/test`, test);
    const options = {
      args: [...shell === "zsh" ? ["-f"] : [], "test"],
      cwd: folder,
      env: { ...OWN_WORDS, HOME: folder },
    };
    const { stdout, stderr } = await new Deno.Command(shell, options).output();
    assert.equal(new TextDecoder().decode(stderr), "");
    lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  });
  return lines;
}

Deno.test("bash completes commands, flags with one dash and two, values and files", BASH, async () => {
  const lines = await inShell(
    "bash",
    `. ./completion
complete -p vbg-cloud
c() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vbg 2>/dev/null; (IFS=,; echo "\${COMPREPLY[*]}"); }
c vbg co
c ./bin/vbg convert -o
c vbg convert a.log --ou
c vbg-cloud ca i
c vbg-cloud ca init -ca-d
c vbg-boat -log-format ""
c vbg-boat --log-format t
c vbg-boat -listen ""
c vbg convert "a f"
c vbg-boat -config a
c vbg-boat a
c vbg completion ""
`,
  );
  assert.deepEqual(lines, [
    "complete -F _vbg vbg-cloud",
    "convert,completion",
    "-out",
    "--out",
    "init,issue",
    "-ca-dir",
    "json,text",
    "text",
    "",
    "a file.lpj",
    "a file.lpj",
    "",
    "bash,zsh,fish",
  ]);
});

Deno.test("zsh completes commands with their summaries, flags, values and files", ZSH, async () => {
  // What the functions of zsh's own completion are told; they work inside its line editor alone.
  const lines = await inShell(
    "zsh",
    `compdef() { print -r -- "$@" }
. ./completion
compadd() { shift; print -r -- "$@" }
_files() { print files }
_message() { print "message $1" }
_describe() { local -a rows=(\${(P)@[-1]}); print -rl -- \${(M)rows:#$PREFIX*} }
c() { words=("$@"); CURRENT=$#; PREFIX=$words[-1]; _vbg }
c vbg con
c vbg convert -out-
c ./bin/vbg convert --ou
c vbg-cloud ca init -ca-d
c vbg-boat --log-format ""
c vbg-boat -listen ""
c vbg convert ""
`,
  );
  assert.deepEqual(lines.map((line) => line.replace(/^(-+[a-z-]+):.*/, "$1:")), [
    "_vbg vbg vbg-boat vbg-cloud",
    "convert:makes a journal: of recordings",
    "",
    "--out:",
    "-ca-dir:",
    "json text",
    "message value",
    "files",
  ]);
});

Deno.test("fish completes commands with their summaries, flags, values and files", FISH, async () => {
  const lines = await inShell(
    "fish",
    `source completion
for line in "vbg con" "vbg convert -ou" "vbg-cloud ca init -ca-d" "vbg-cloud ca i" "vbg-boat -log-format t" "vbg convert a"
  complete -C $line | string replace -r '^(-[a-z-]+|text)\\t.*' '$1'
end
`,
  );
  assert.deepEqual(lines, [
    "convert\tmakes a journal: of recordings",
    "-out",
    "-ca-dir",
    "init\tcreates an authority whose certificates boats and cloud trust",
    "issue\tcreates a certificate for a boat, the cloud or a node",
    "text",
    "a file.lpj",
  ]);
});

Deno.test("a shell that nobody completes for is refused with those that are known", NEEDS, async () => {
  for (const args of [[], ["tcsh"], ["bash", "zsh"]]) {
    const { code, printed, complaints } = await runCompletion(args);
    assert.deepEqual([code, printed], [EXIT.settings, ""]);
    assert.equal(
      complaints,
      `vbg completion: Cannot complete for "${args.join(" ")}": expected one of bash, zsh, fish`,
    );
  }
});
