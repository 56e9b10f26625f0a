import { createRequire } from "node:module";
import { join } from "node:path";
import { Buffer } from "node:buffer";
import { destinationOfId, type Message, sourceOfId } from "../../src/frame/mod.ts";
import { packageFolder } from "./browser.ts";
import type { Needs } from "./needs.ts";

const MAPPER = "@signalk/n2k-signalk";
/** The mapper loads it without declaring it. */
const SCHEMA = "@signalk/signalk-schema";

/** What a test that compares with signalk-server's mapper cannot do without. */
export const ORACLE_NEEDS: Needs = {
  permissions: ["env", "read", "sys"],
  others: Object.fromEntries(
    [MAPPER, SCHEMA].map((name) => [`npm package "${name}"`, packageFolder(name) !== undefined]),
  ),
};

/** A delta as signalk-server's mapper makes it. */
export interface OracleDelta {
  context?: string;
  updates: { timestamp: string; values: { path: string; value: unknown }[] }[];
}

interface Parser {
  parsePgnData(
    head: { pgn: number; src: number; dst: number; prio: number; timestamp: string },
    length: number,
    data: Uint8Array,
    isWhole: boolean,
    callback: undefined,
    source: undefined,
  ): unknown;
  on(event: string, listener: () => void): void;
}
interface Packages {
  Parser: new (options: Record<string, unknown>) => Parser;
  N2kMapper: new (options: Record<string, unknown>) => { toDelta(message: unknown): OracleDelta | undefined };
}

/** Decoder of canboatjs and mapper of signalk-server: what they say about messages, one after the other. */
export class SignalKOracle {
  readonly #parser: Parser;
  readonly #mapper: InstanceType<Packages["N2kMapper"]>;

  constructor() {
    const require = createRequire(join(packageFolder(MAPPER) ?? "", "package.json"));
    const { FromPgn }: { FromPgn: Packages["Parser"] } = require("@canboat/canboatjs");
    const { N2kMapper }: { N2kMapper: Packages["N2kMapper"] } = require(packageFolder(MAPPER) ?? "");
    this.#parser = new FromPgn({});
    for (const event of ["error", "warning"]) this.#parser.on(event, () => {});
    this.#mapper = new N2kMapper({});
  }

  /** The delta of a message; undefined: the decoder or the mapper knows nothing about it. */
  delta({ id, pgn, timeUs, data, offset, length }: Message): OracleDelta | undefined {
    const head = {
      pgn,
      src: sourceOfId(id),
      dst: destinationOfId(id),
      prio: id >>> 26,
      timestamp: new Date(timeUs / 1000).toISOString(),
    };
    const bytes = Buffer.from(data.slice(offset, offset + length));
    const parsed = this.#parser.parsePgnData(head, length, bytes, true, undefined, undefined);
    return parsed ? this.#mapper.toDelta(parsed) : undefined;
  }
}

/** Folders of signalk-server's mapper with mappings by PGN. */
const FOLDERS = ["pgns", "fusion", "lowrance", "raymarine", "maretron", "actisense", "digitalyacht", "simrad"] as const;

/** The PGNs that signalk-server's mapper has mappings for. */
export function oraclePgns(): number[] {
  const require = createRequire(join(packageFolder(MAPPER) ?? "", "package.json"));
  return FOLDERS.flatMap((folder) => {
    const mappings: Record<string, unknown> = require(`./dist/${folder}`);
    return Object.keys(mappings).map(Number);
  });
}
