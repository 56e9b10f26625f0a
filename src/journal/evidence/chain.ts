import { compareNames } from "../file/name.ts";
import type { CheckedEntry, EvidenceFault } from "./check_types.ts";
import type { Statement } from "./statement.ts";

/** A valid statement in the chain. */
interface Link extends Statement {
  statementSha256: string;
}

/** Checks that valid statements follow one another, and that no file between them is missing. */
export function checkChain(entries: readonly CheckedEntry[], { isWhole }: { isWhole: boolean }): EvidenceFault[] {
  const links = linksOf(entries);
  const gaps = new Gaps(entries, links);
  const faults: EvidenceFault[] = [];
  for (const [i, link] of links.entries()) {
    const before = links[i - 1];
    const { number, name, previous } = link;
    if (before?.number === number) {
      const what = `it has the position of ${before.name} in the chain, ${number}: two boats have signed with this key`;
      faults.push({ name, kind: "predecessor", what });
    } else if (before?.number === number - 1) {
      const isSame = previous?.name === before.name && previous.sha256 === before.sha256 &&
        previous.statementSha256 === before.statementSha256;
      const what = `its statement names another predecessor than ${before.name} as it is`;
      if (!isSame) faults.push({ name, kind: "predecessor", what });
    } else if (isWhole) faults.push(...gaps.before(link, before));
  }
  return isWhole ? [...faults, ...gaps.withoutFile()] : faults;
}

/** The valid statements by their positions. */
function linksOf(entries: readonly CheckedEntry[]): Link[] {
  const found = new Map<string, Link>();
  for (const { valid, statementSha256 } of entries) {
    if (valid && statementSha256 !== undefined) found.set(statementSha256, { ...valid, statementSha256 });
  }
  return [...found.values()].sort((a, b) => a.number - b.number);
}

/** Files that should be between others, and are not there. */
class Gaps {
  readonly #entries: readonly CheckedEntry[];
  /** Names of files, or statements, that have no place in the chain: what is wrong with them is reported. */
  readonly #loose: readonly string[];
  readonly #links: ReadonlyMap<string, Link>;
  readonly #removed: ReadonlySet<string>;
  readonly #present: ReadonlySet<string>;
  readonly #oldest: string;

  constructor(entries: readonly CheckedEntry[], links: readonly Link[]) {
    this.#entries = entries;
    this.#links = new Map(links.map((link) => [link.name, link]));
    this.#loose = entries.map(({ name }) => name).filter((name) => !this.#links.has(name));
    this.#removed = new Set(links.flatMap(({ removed }) => removed));
    this.#present = new Set(entries.map(({ name }) => name));
    this.#oldest = entries.find(({ file }) => file)?.name ?? "";
  }

  /** What is missing before a statement; `before` is the one before it, if there is any. */
  before({ name, number, previous }: Link, before: Link | undefined): EvidenceFault[] {
    if (previous === undefined || this.#isOlder(previous.name)) return [];
    const again = this.#links.get(previous.name);
    if (again) {
      const what = `it was signed again: ${name} was signed after another statement about it, which was deleted`;
      return [{ name: again.name, kind: "statement", what }];
    }
    const isKnown = this.#present.has(previous.name) || this.#removed.has(previous.name);
    const isMissing = { name: previous.name, kind: "missing" as const };
    if (before === undefined) {
      return isKnown ? [] : [{ ...isMissing, what: `the file is missing: ${name} was signed after it` }];
    }
    const isBetween = (each: string) =>
      each === previous.name || compareNames(each, before.name) > 0 && compareNames(each, name) < 0;
    const explained = new Set([...this.#loose, ...this.#removed].filter(isBetween));
    const count = number - before.number - 1 - explained.size;
    if (count <= 0 && isKnown) return [];
    const where = `between ${before.name} and ${name}`;
    if (isKnown) return [{ name, kind: "missing", what: `${filesAre(count)} missing ${where}` }];
    const others = count > 1 ? `; in all ${filesAre(count)} missing ${where}` : "";
    return [{ ...isMissing, what: `the file is missing: ${name} was signed after it${others}` }];
  }

  /** Statements without their files. */
  withoutFile(): EvidenceFault[] {
    return this.#entries.filter(({ file, name }) => !file && !this.#isOlder(name) && !this.#removed.has(name))
      .map(({ name }) => ({ name, kind: "missing", what: "the file is missing, and its statement is there" }));
  }

  /** True for files that retention may have deleted. */
  #isOlder(name: string): boolean {
    return compareNames(name, this.#oldest) < 0;
  }
}

function filesAre(count: number): string {
  return count === 1 ? "1 file is" : `${count} files are`;
}
