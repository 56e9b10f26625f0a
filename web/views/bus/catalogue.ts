import type { KnownPgn, PgnDetails } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";

/** Numbers in an expression that may be PGNs. */
const NUMBER = /\b(?:0x[\da-f]+|\d{5,6})\b/gi;

/** Descriptions of PGNs, asked for when a PGN is seen for the first time. */
export class Catalogue {
  readonly #boat: BoatStore;
  readonly #onMore: () => void;
  readonly #known = new Map<number, KnownPgn>();
  readonly #details = new Map<number, PgnDetails | undefined>();
  #list: Promise<readonly KnownPgn[]> | undefined;

  /** @param onMore is called when there is another description */
  constructor(boat: BoatStore, onMore: () => void) {
    this.#boat = boat;
    this.#onMore = onMore;
  }

  /** The list of all PGNs, asked for once. */
  load(): Promise<readonly KnownPgn[]> {
    return this.#list ??= this.#load();
  }

  async #load(): Promise<readonly KnownPgn[]> {
    try {
      const known = await this.#boat.client.pgns();
      for (const each of known) this.#known.set(each.pgn, each);
      return known;
    } catch {
      // PGNs have no names and framings until it is asked for again.
      this.#list = undefined;
      return [];
    }
  }

  /** Description, as far as it is known here. */
  describe(pgn: number): PgnDetails | undefined {
    return this.#details.get(pgn);
  }

  /** All PGNs that the server can decode. */
  list(): KnownPgn[] {
    return [...this.#known.values()];
  }

  /** Name of a PGN; empty: unknown. */
  nameOf(pgn: number): string {
    return this.#known.get(pgn)?.description ?? "";
  }

  /** Asks for the description of a PGN that is not known here. */
  see(pgn: number): void {
    if (!this.#details.has(pgn)) void this.learn(pgn);
  }

  /** Asks for the PGNs on the buses and those that an expression names, so that its fields and units can be checked. */
  async learnFrom(text: string): Promise<void> {
    const pgns = new Set(Array.from(text.matchAll(NUMBER), ([number]) => Number(number)));
    for (const pgn of await this.#onBuses()) pgns.add(pgn);
    await Promise.all(Array.from(pgns, (pgn) => this.learn(pgn)));
  }

  async #onBuses(): Promise<number[]> {
    try {
      return (await this.#boat.client.values()).flatMap(({ values }) => values.map(({ pgn }) => pgn));
    } catch {
      return [];
    }
  }

  /** Description of a PGN, asked for if it is not known here; undefined: the server has none. */
  async learn(pgn: number): Promise<PgnDetails | undefined> {
    const known = this.#details.get(pgn);
    if (known) return known;
    this.#details.set(pgn, undefined);
    await this.load();
    // Asking for a PGN that the server does not know is an error in the browser's console.
    const details = this.#known.has(pgn) ? await this.#boat.describe(pgn) : undefined;
    if (details && !this.#details.get(pgn)) {
      this.#details.set(pgn, details);
      this.#onMore();
    }
    return details;
  }
}
