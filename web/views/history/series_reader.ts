import { ApiError, type SeriesReply } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";
import { type HistoryPlace, type Span, spanOf } from "./place.ts";
import { fieldsOfChoice } from "./quantity_fields.ts";
import { joinTail, tailOf } from "./refresh.ts";

/** Longest time for which only ends of a range are asked for, milliseconds: a cloud may receive older frames later. */
const WHOLE_MS = 120_000;

/** What the server said to a request for series. */
export type Answer =
  & { text: string }
  & ({ type: "reply"; reply: SeriesReply; span: Span } | { type: "refused"; status: number; detail: string });

/** Asks for the series of a place; again only for what is new. */
export class SeriesReader {
  readonly #boat: BoatStore;
  #last: { text: string; reply: SeriesReply; wholeAtMs: number } | undefined;

  constructor(boat: BoatStore) {
    this.#boat = boat;
  }

  /** @param options.text the same for the same place */
  async ask(
    { range, chosen }: HistoryPlace,
    { text, points, signal }: { text: string; points: number; signal: AbortSignal },
  ): Promise<Answer> {
    const { fromMs, toMs } = spanOf(range, this.#boat.clock.nowMs);
    const span = { fromMs, toMs };
    const field = [...new Set(chosen.flatMap(fieldsOfChoice))];
    if (field.length === 0) {
      return { type: "reply", text, reply: { from: "", to: "", bucket_ms: 1000, series: [] }, span };
    }
    try {
      const reply = await this.#end(field, { text, span, signal }) ??
        await this.#all(field, { text, span, points, signal });
      return { type: "reply", text, reply, span };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 401) throw error;
      return { type: "refused", text, status: error.status, detail: error.problem.detail };
    }
  }

  async #all(
    field: string[],
    { text, span, points, signal }: { text: string; span: Span; points: number; signal: AbortSignal },
  ): Promise<SeriesReply> {
    const reply = await this.#series(field, { ...span, points, signal });
    this.#last = { text, reply, wholeAtMs: performance.now() };
    return reply;
  }

  async #end(
    field: string[],
    { text, span, signal }: { text: string; span: Span; signal: AbortSignal },
  ): Promise<SeriesReply | undefined> {
    const last = this.#last;
    if (last?.text !== text || performance.now() - last.wholeAtMs > WHOLE_MS) return undefined;
    const tail = tailOf(last.reply, span);
    if (!tail) return undefined;
    const reply = joinTail(last.reply, await this.#series(field, { ...tail, signal }), {
      span,
      tailFromMs: tail.fromMs,
    });
    if (reply) this.#last = { ...last, reply };
    return reply;
  }

  #series(
    field: string[],
    { fromMs, toMs, points, signal }: Span & { points: number; signal: AbortSignal },
  ): Promise<SeriesReply> {
    const times = { from: new Date(fromMs), to: new Date(toMs) };
    return this.#boat.client.series({ field, ...times, points }, { signal });
  }
}
