import {
  type Json,
  SELF,
  type SignalKDelta,
  SignalKModel,
  type StaleValue,
  type Update,
} from "../../src/signalk/mod.ts";

/** PGN with a standard interval of 100 ms. */
export const HEADING = 127250;
/** PGN without one. */
export const ROUTE = 129285;
/** Id of the own vessel in tests. */
export const OWN = "urn:mrn:imo:mmsi:230012345";

/** What a test says of a value; the rest has defaults. */
export interface Value {
  context?: string;
  path?: string;
  value?: Json;
  source?: string;
  pgn?: number;
  quantity?: string;
}

/** A model, with a clock that the test moves. */
export class ModelTest {
  nowMs = 0;
  readonly preferred = new Map<string, string>();
  readonly model = new SignalKModel({ self: OWN, preferredSource: (quantity) => this.preferred.get(quantity) });

  /** Time of day, milliseconds since 1970. */
  get timeMs(): number {
    return 1_700_000_000_000 + this.nowMs;
  }

  /** Says a value now. */
  say(
    { context = SELF, path = "navigation.headingTrue", value = 1, source = "can0.a", pgn = HEADING, quantity }: Value =
      {},
  ): Update {
    const delta: SignalKDelta = {
      ...{ context, source, pgn, src: 1, timeUs: this.timeMs * 1000 },
      values: [{ path, value, field: "heading" }],
    };
    return this.model.apply(delta, { atMs: this.nowMs, quantityOf: () => quantity });
  }

  /** Lets time pass; returns the paths whose value became null. */
  pass(ms: number): string[] {
    return this.passed(ms).filter(({ isPreferred }) => isPreferred).map(({ entry }) => entry.path);
  }

  /** Lets time pass; returns all values that became stale. */
  passed(ms: number): StaleValue[] {
    this.nowMs += ms;
    return this.model.evaluate(this.nowMs, this.timeMs);
  }

  /** The preferred value of a path of the own vessel; undefined: all are stale. */
  newest(path = "navigation.headingTrue"): Json | undefined {
    return this.model.self.paths.get(path)?.preferred?.value;
  }
}
