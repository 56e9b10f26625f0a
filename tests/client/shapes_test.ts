import assert from "node:assert/strict";
import type { z } from "zod";
import type * as client from "../../src/client/mod.ts";
import type { cloudHealthSchema, instanceStatusSchema, replicationEventsSchema } from "../../src/http/cloud/schemas.ts";
import type { Decoded, Labels } from "../../src/pgn/mod.ts";
import type { DeviceValues, Proof } from "../../src/http/mod.ts";
import type { ledgerSchema } from "../../src/http/ledger.ts";
import type { LedgerReport } from "../../src/ledger/mod.ts";
import type { seriesSchema } from "../../src/http/series/series.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import type {
  decodedValuesSchema,
  deviceSchema,
  fieldSpanSchema,
  frameSchema,
  healthSchema,
  pgnSchema,
  pgnSummarySchema,
  problemSchema,
  valuesSchema,
} from "../../src/http/schemas.ts";

/** A shape in which it makes no difference whether a member may be left out or undefined, or a list may be changed. */
type Plain<T> = T extends readonly (infer Item)[] ? Plain<Item>[]
  : T extends object ? { [Key in keyof T]: Plain<Exclude<T[Key], undefined>> }
  : T;

/** True when both are the same: each fits where the other is wanted, and neither has a member more. */
type Same<A, B> = [Plain<A>] extends [Plain<B>]
  ? [Plain<B>] extends [Plain<A>]
    ? [AllKeys<A>] extends [AllKeys<B>] ? [AllKeys<B>] extends [AllKeys<A>] ? true : "keys"
    : "keys"
  : "server's does not fit"
  : "client's does not fit";
type AllKeys<T> = T extends readonly (infer Item)[] ? keyof Item : keyof T;

/** Each is checked by the compiler. */
const SHAPES: {
  frame: Same<
    Omit<client.ClientFrame, "decoded" | "labels">,
    Omit<z.output<typeof frameSchema>, "decoded" | "labels">
  >;
  decoded: Same<client.DecodedFields, Decoded>;
  labels: Same<client.FieldLabels, Labels>;
  device: Same<client.Device, z.output<typeof deviceSchema>>;
  values: Same<client.LastValues, z.output<typeof valuesSchema>>;
  decodedValues: Same<client.LastValues<client.DecodedLastValue>, DeviceValues>;
  decodedValuesKeys: Same<
    Omit<client.DecodedLastValue, "decoded" | "labels">,
    Omit<z.output<typeof decodedValuesSchema>["values"][number], "decoded" | "labels">
  >;
  pgn: Same<client.KnownPgn, z.output<typeof pgnSummarySchema>>;
  pgnDetails: Same<client.PgnDetails, z.output<typeof pgnSchema>>;
  spans: Same<client.FieldSpan, z.output<typeof fieldSpanSchema>>;
  health: Same<client.BoatHealth, z.output<typeof healthSchema>>;
  problem: Same<client.Problem, z.output<typeof problemSchema>>;
  replication: Same<client.BoatReplication, ReplicationStatus>;
  ledger: Same<client.BoatLedger, z.output<typeof ledgerSchema>>;
  ledgerReport: Same<client.BoatLedger, LedgerReport>;
  seriesReply: Same<Omit<client.SeriesReply, "series">, Omit<z.output<typeof seriesSchema>, "series">>;
  series: Same<
    Omit<client.FieldSeries, "last">,
    Omit<z.output<typeof seriesSchema>["series"][number], "last">
  >;
  instance: Same<Required<client.InstanceStatus>, z.output<typeof instanceStatusSchema>>;
  proof: Same<client.Proof, Proof>;
  events: Same<client.ReplicationEvent[], z.output<typeof replicationEventsSchema>>;
  cloudHealth: Same<client.CloudHealth, z.output<typeof cloudHealthSchema>>;
} = {
  frame: true,
  decoded: true,
  labels: true,
  device: true,
  values: true,
  decodedValues: true,
  decodedValuesKeys: true,
  pgn: true,
  pgnDetails: true,
  spans: true,
  health: true,
  problem: true,
  replication: true,
  ledger: true,
  ledgerReport: true,
  seriesReply: true,
  series: true,
  instance: true,
  proof: true,
  events: true,
  cloudHealth: true,
};

Deno.test("the client's shapes are those of the servers' schemas", () => {
  assert.deepEqual(new Set(Object.values(SHAPES)), new Set([true]));
});
