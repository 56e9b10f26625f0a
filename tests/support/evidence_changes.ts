import { openEvidenceKey } from "../../src/journal/evidence/key.ts";
import { encodeStatement, parseStatement, sha256, type Statement } from "../../src/journal/evidence/statement.ts";
import { signatureOf, statementOf } from "../../src/journal/file/name.ts";
import type { Random } from "./random.ts";

/** Files of a directory by name. */
export type Files = Map<string, Uint8Array<ArrayBuffer>>;

/** A change, and what has to be found: each file of `names`, and no other. */
export interface Change {
  names: string[];
  /** What of them; default: any. */
  kinds?: string[];
  /** Offset in the file that was changed. */
  offset?: number;
}

/** What changes need. */
export interface Bench {
  random: Random;
  /** Names of the journal files, in order. */
  names: readonly string[];
  own: Key;
  other: Key;
}

/** A key that signs. */
export type Key = Awaited<ReturnType<typeof openEvidenceKey>>["key"];

/** Opens the key of a file, or makes one. */
export async function keyAt(path: string): Promise<Key> {
  const read = () =>
    Deno.readFile(path).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
  const write = (content: Uint8Array | string) =>
    Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
  return (await openEvidenceKey({ path, read, write })).key;
}

type Make = (files: Files, bench: Bench) => Change | Promise<Change>;

/** Kinds of changes. Each changes some files and says which. */
export const CHANGES: Readonly<Record<string, Make>> = {
  "a bit of a file": (files, { random, names }) => {
    const name = random.pick(names);
    return { names: [name], kinds: ["changed"], offset: flip(files, { name, random }) };
  },
  "bytes of a file": (files, { random, names }) => {
    const name = random.pick(names);
    const bytes = get(files, name).slice();
    bytes.set(random.bytes(random.between(1, 40)).subarray(0, 40), random.int(bytes.length - 40));
    files.set(name, bytes);
    return { names: [name], kinds: ["changed"] };
  },
  "a file is cut": (files, { random, names }) => {
    const name = random.pick(names);
    files.set(name, get(files, name).slice(0, random.int(get(files, name).length)));
    return { names: [name], kinds: ["cut"] };
  },
  "a file is extended": (files, { random, names }) => {
    const name = random.pick(names);
    files.set(name, join(get(files, name), random.bytes(random.between(1, 3000))));
    return { names: [name], kinds: ["extended"] };
  },
  "the contents of two files": (files, { random, names }) => {
    const [one = "", other = ""] = random.shuffle(names);
    swap(files, one, other);
    return { names: [one, other], kinds: ["changed"] };
  },
  "the names of two files with what is beside them": (files, { random, names }) => {
    const [one = "", other = ""] = random.shuffle(names);
    for (const pathOf of [same, statementOf, signatureOf]) swap(files, pathOf(one), pathOf(other));
    return { names: [one, other] };
  },
  "the statements of two files": (files, { random, names }) => {
    const [one = "", other = ""] = random.shuffle(names);
    for (const pathOf of [statementOf, signatureOf]) swap(files, pathOf(one), pathOf(other));
    return { names: [one, other], kinds: ["renamed"] };
  },
  "the signatures of two files": (files, { random, names }) => {
    const [one = "", other = ""] = random.shuffle(names);
    swap(files, signatureOf(one), signatureOf(other));
    return { names: [one, other], kinds: ["signature", "statement"] };
  },
  "a bit of a statement": (files, { random, names }) => {
    const name = random.pick(names);
    flip(files, { name: statementOf(name), random });
    return { names: [name], kinds: ["statement", "key"] };
  },
  "a bit of a signature": (files, { random, names }) => {
    const name = random.pick(names);
    flip(files, { name: signatureOf(name), random });
    return { names: [name], kinds: ["signature", "statement"] };
  },
  "a statement or signature is cut or extended": (files, { random, names }) => {
    const name = random.pick(names);
    const path = random.pick([statementOf, signatureOf])(name);
    const bytes = get(files, path);
    files.set(path, random.chance(0.5) ? bytes.slice(0, random.int(bytes.length)) : join(bytes, random.bytes(9)));
    return { names: [name], kinds: ["signature", "statement"] };
  },
  "a statement, its signature, or both are deleted": (files, { random, names }) => {
    const name = random.pick(names);
    for (const pathOf of random.pick([[statementOf], [signatureOf], [statementOf, signatureOf]])) {
      files.delete(pathOf(name));
    }
    return { names: [name], kinds: ["unsigned", "signature", "statement"] };
  },
  "a file is deleted and its statement is not": (files, { random, names }) => {
    const name = random.pick(names.slice(1));
    files.delete(name);
    return { names: [name], kinds: ["missing"] };
  },
  "a file is deleted with what is beside it": (files, { random, names }) => {
    const name = random.pick(names.slice(1, -1));
    for (const pathOf of [same, statementOf, signatureOf]) files.delete(pathOf(name));
    return { names: [name], kinds: ["missing"] };
  },
  "a file is renamed with what is beside it": (files, { random, names }) => {
    const name = random.pick(names);
    const renamed = freeName(files, random);
    for (const pathOf of [same, statementOf, signatureOf]) {
      files.set(pathOf(renamed), get(files, pathOf(name)));
      files.delete(pathOf(name));
    }
    return { names: [renamed], kinds: ["renamed"] };
  },
  "a file is added": (files, { random, names }) => {
    const name = freeName(files, random);
    files.set(name, get(files, random.pick(names)));
    return { names: [name] };
  },
  "a file is copied with what is beside it": (files, { random, names }) => {
    const [name, copy] = [random.pick(names), freeName(files, random)];
    for (const pathOf of [same, statementOf, signatureOf]) files.set(pathOf(copy), get(files, pathOf(name)));
    return { names: [copy], kinds: ["renamed"] };
  },
  "another key has signed a statement": async (files, { random, names, own, other }) => {
    const name = random.pick(names);
    const isNamed = random.chance(0.5);
    await sign(files, { name, key: other, change: { key: (isNamed ? other : own).fingerprint } });
    return { names: [name], kinds: isNamed ? ["key"] : ["signature", "statement"] };
  },
  "a file is changed and signed with another key": async (files, { random, names, other }) => {
    const name = random.pick(names);
    flip(files, { name, random });
    const bytes = get(files, name);
    await sign(files, { name, key: other, change: { key: other.fingerprint, sha256: sha256(bytes) } });
    return { names: [name] };
  },
  "a file is changed, and the whole chain signed with another key": async (files, { random, names, other }) => {
    flip(files, { name: random.pick(names), random });
    let previous: Statement["previous"];
    for (const name of names) {
      const change = { key: other.fingerprint, sha256: sha256(get(files, name)), previous };
      await sign(files, { name, key: other, change });
      previous = { name, sha256: change.sha256, statementSha256: sha256(get(files, statementOf(name))) };
    }
    return { names: [...names], kinds: ["key"] };
  },
};

/** Signs the statement of a file again, with changes. */
export async function sign(
  files: Files,
  { name, key, change }: { name: string; key: Key; change: Partial<Statement> },
): Promise<void> {
  const text = new TextDecoder().decode(get(files, statementOf(name)));
  const bytes = new TextEncoder().encode(encodeStatement({ ...parseStatement(text), ...change }));
  files.set(statementOf(name), bytes);
  files.set(signatureOf(name), await key.sign(bytes));
}

function flip(files: Files, { name, random }: { name: string; random: Random }): number {
  const bytes = get(files, name).slice();
  const offset = random.int(bytes.length);
  bytes[offset]! ^= 1 << random.int(8);
  files.set(name, bytes);
  return offset;
}

function swap(files: Files, one: string, other: string): void {
  const kept = get(files, one);
  files.set(one, get(files, other));
  files.set(other, kept);
}

function freeName(files: Files, random: Random): string {
  for (;;) {
    const name = `nmea2k-202601${random.between(10, 28)}T0304${random.between(10, 59)}.000Z.lpj`;
    if (!files.has(name)) return name;
  }
}

function get(files: Files, name: string): Uint8Array<ArrayBuffer> {
  const bytes = files.get(name);
  if (bytes === undefined) throw new Error(`There is no ${name}`);
  return bytes;
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

function same(name: string): string {
  return name;
}
