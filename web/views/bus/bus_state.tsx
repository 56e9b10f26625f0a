import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BoatHealth, Metric } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";
import { usePolled, valueOf } from "../../shell/polled.ts";
import { rateText } from "../plain_text.ts";
import { countersOf, stateOf } from "./bus_counters.ts";
import type { BusMonitor } from "./monitor.ts";

/** Interval of asking for the state of the buses, milliseconds. */
const EVERY_MS = 2000;
/** Interval of showing rates, milliseconds. */
const RATES_MS = 1000;
const COLOURS = { ok: "good", degraded: "warn", unhealthy: "bad" } as const;

/** Load and rates of the messages, and what the controllers say of errors. */
export function BusState({ boat, monitor }: { boat: BoatStore; monitor: BusMonitor }) {
  return (
    <>
      <Rates monitor={monitor} />
      {boat.cloud
        ? <p class="quiet">The boat itself shows the error state of its buses.</p>
        : <Controllers boat={boat} />}
    </>
  );
}

function Rates({ monitor }: { monitor: BusMonitor }) {
  const tick = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => tick.value++, RATES_MS);
    return () => clearInterval(timer);
  }, []);
  tick.value;
  const nowMs = performance.now();
  const isPart = Object.keys(monitor.sent.value).length > 0;
  const pgns = monitor.load.pgns(nowMs);
  return (
    <section aria-labelledby="bus-load">
      <h2 id="bus-load">{isPart ? "Load by the messages of the filter" : "Bus load"}</h2>
      <dl class="bus-figures card">
        {monitor.load.loads(nowMs).map(({ bus, load }) => (
          <div key={bus}>
            <dt>{bus || "Load"}</dt>
            <dd>about {(load * 100).toFixed(1)} %</dd>
          </div>
        ))}
        <div>
          <dt>Messages</dt>
          <dd>{rateText(monitor.load.perSecond(nowMs))}</dd>
        </div>
      </dl>
      <details class="bus-rates">
        <summary>Rate of each PGN ({pgns.length})</summary>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">PGN</th>
              <th scope="col">Message</th>
              <th scope="col" class="right">Rate</th>
            </tr>
          </thead>
          <tbody>
            {pgns.map(({ pgn, perSecond }) => (
              <tr key={pgn}>
                <td class="num">{pgn}</td>
                <td>{monitor.catalogue.nameOf(pgn)}</td>
                <td class="right">{rateText(perSecond)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

function Controllers({ boat }: { boat: BoatStore }) {
  const health = usePolled((signal) => boat.client.health({ signal }), { everyMs: EVERY_MS, of: [boat] });
  const metrics = usePolled((signal) => boat.client.metrics({ signal }), { everyMs: EVERY_MS, of: [boat] });
  const figures = valueOf(metrics.value);
  if (!figures) return null;
  return <Buses health={valueOf(health.value)} metrics={figures} />;
}

function Buses({ health, metrics }: { health: BoatHealth | undefined; metrics: readonly Metric[] }) {
  const counters = countersOf(metrics);
  if (counters.size === 0) return null;
  return (
    <section aria-labelledby="bus-errors">
      <h2 id="bus-errors">Errors</h2>
      {[...counters].map(([bus, counts]) => {
        const { status = "ok", message } = health?.components[bus] ?? {};
        return (
          <div key={bus} class="card">
            <h3>
              {bus}: <span class={COLOURS[status]}>{stateText(stateOf(metrics, bus) ?? status)}</span>
            </h3>
            {message && <p class={COLOURS[status]}>{message}</p>}
            <dl class="bus-figures">
              {counts.map(({ name, value }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd class={value > 0 ? "warn" : ""}>{value}</dd>
                </div>
              ))}
            </dl>
          </div>
        );
      })}
    </section>
  );
}

/** The name of the normal state of a CAN controller reads like an error. */
function stateText(state: string): string {
  return state === "error-active" ? "error-active (normal)" : state;
}
