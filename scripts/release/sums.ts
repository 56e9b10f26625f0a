/** SHA-256 digest, hexadecimal. */
export async function sha256(bytes: BufferSource): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Name of the file of checksums. */
export const SUMS = "SHA256SUMS";

/** Writes the checksums of all files below a directory for `sha256sum -c`. Returns the files' relative paths. */
export async function writeSums(out: string): Promise<string[]> {
  const names = (await filesBelow(out, "")).filter((name) => name !== SUMS).sort();
  const lines: string[] = [];
  for (const name of names) lines.push(`${await sha256(await Deno.readFile(`${out}/${name}`))}  ${name}\n`);
  await Deno.writeTextFile(`${out}/${SUMS}`, lines.join(""));
  return [...names, SUMS];
}

async function filesBelow(root: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isFile, isDirectory } of Deno.readDir(`${root}/${folder}`)) {
    if (isFile) found.push(`${folder}${name}`);
    else if (isDirectory) found.push(...await filesBelow(root, `${folder}${name}/`));
  }
  return found;
}
