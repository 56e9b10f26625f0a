/** Writes a shell script into a folder and gives its path. `$LOG` in it is what {@linkcode readLog} reads. */
export async function writeScript(folder: string, body: string): Promise<string> {
  const path = `${folder}/archive.sh`;
  // Another process writes it: what this one has open for writing, a child of another test could hold for a moment, and
  // then it cannot be started.
  const writer = new Deno.Command("sh", { args: ["-c", 'cat >"$0" && chmod 755 "$0"', path], stdin: "piped" }).spawn();
  await new Blob([`#!/bin/sh\nLOG="${folder}/archive.log"\n${body}\n`]).stream().pipeTo(writer.stdin);
  await writer.status;
  return path;
}

/** What a script wrote to its log, by lines. */
export async function readLog(folder: string): Promise<string[]> {
  try {
    return (await Deno.readTextFile(`${folder}/archive.log`)).split("\n").filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** A script that says ok of every file and writes their names to the log, one run a line. */
export const ALL_OK = `
names=""
for path in "$@"; do
  names="$names \${path##*/}"
  printf '{"path":"%s","status":"ok"}\\n' "$path"
done
echo "$names" >>"$LOG"
`;
