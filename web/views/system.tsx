import type { BoatHealth, ComponentHealth, Metric } from "@vessel/gateway/client";
import type { BoatStore, ViewProps } from "../shell/boat_store.ts";
import { type Polled, usePolled, valueOf } from "../shell/polled.ts";
import { access } from "../shell/server.ts";
import { dropsOf, figuresOf } from "./figures.ts";
import { countOf, type FrameRanges, rangesOfBoat, rangesOfCloud, segmentsOf } from "./hole_line.ts";
import { SendForm } from "./send_form.tsx";
import { momentText } from "./time_text.ts";
import "./system.css";

/** Interval of asking for the state, milliseconds. */
const EVERY_MS = 2000;

/** Health, figures, what was dropped, replication, and sending. */
const ALERTS_EVERY_MS = 5000;
const LIMITS_EVERY_MS = 60_000;
const SEVERITY_COLOURS = { critical: "bad", warning: "warn", info: "good" };
/** Of an alert that says that a problem has ended, the severity is "info". */
const SEVERITY_TEXTS = { critical: "critical", warning: "warning", info: "ended" };

export function System({ boat }: ViewProps) {
  return boat.cloud ? <InCloud boat={boat} /> : <OnBoat boat={boat} />;
}

function OnBoat({ boat }: { boat: BoatStore }) {
  const health = usePolled((signal) => boat.client.health({ signal }), { everyMs: EVERY_MS });
  const metrics = usePolled((signal) => boat.client.metrics({ signal }), { everyMs: EVERY_MS });
  const state = access.value;
  const info = state.type === "ready" ? state.server.info : undefined;
  return (
    <>
      <Health state={health.value} />
      <Drops metrics={valueOf(metrics.value)} />
      <Figures metrics={valueOf(metrics.value)} />
      {info?.links["replication"] === undefined
        ? (
          <section>
            <h2>Replication</h2>
            <p class="quiet">This boat has no cloud: see -replication-target.</p>
          </section>
        )
        : <BoatLink boat={boat} />}
      <Alerts boat={boat} />
      <Limits boat={boat} />
      <h2>Send</h2>
      {info?.may_send
        ? <SendForm boat={boat} />
        : <p class="quiet">Sending is off, or this token does not permit it: see -send-enabled and -auth-file.</p>}
    </>
  );
}

function Health({ state }: { state: Polled<BoatHealth> }) {
  const health = valueOf(state);
  return (
    <section aria-labelledby="sys-health">
      <h2 id="sys-health">Health {health && <State status={health.status} />}</h2>
      {state.type === "failed" && <p class="bad" role="alert">No answer from the server: {state.message}</p>}
      {health && <Components components={health.components} />}
    </section>
  );
}

function Components({ components }: { components: Readonly<Record<string, ComponentHealth>> }) {
  return (
    <ul class="sys-list card">
      {Object.entries(components).map(([name, { status, message }]) => (
        <li key={name}>
          <strong>{name.replaceAll("_", " ")}</strong>
          <State status={status} />
          <span>{message}</span>
        </li>
      ))}
    </ul>
  );
}

const COLOURS = { ok: "good", degraded: "warn", unhealthy: "bad" } as const;

function State({ status }: { status: ComponentHealth["status"] }) {
  return <span class={COLOURS[status]}>{status}</span>;
}

/** Everything that did not get where it should, since the start; nothing is left out. */
function Drops({ metrics }: { metrics: readonly Metric[] | undefined }) {
  if (!metrics) return null;
  const drops = dropsOf(metrics);
  return (
    <section aria-labelledby="sys-drops">
      <h2 id="sys-drops">Lost, dropped, refused since the start</h2>
      {drops.length === 0
        ? <p class="card good">Nothing: every counter of drops, losses and refusals is 0.</p>
        : (
          <ul class="sys-list card">
            {drops.map(({ name, value }) => (
              <li key={name}>
                <strong class="warn num">{value}</strong>
                <span>{name}</span>
              </li>
            ))}
          </ul>
        )}
    </section>
  );
}

function Figures({ metrics }: { metrics: readonly Metric[] | undefined }) {
  if (!metrics) return null;
  return (
    <section aria-labelledby="sys-figures">
      <h2 id="sys-figures">Figures</h2>
      <dl class="sys-figures card">
        {figuresOf(metrics).map(({ name, text }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Alerts({ boat }: { boat: BoatStore }) {
  const alerts = valueOf(usePolled((signal) => boat.client.alerts({ signal }), { everyMs: ALERTS_EVERY_MS }).value);
  return (
    <section aria-labelledby="sys-alerts">
      <h2 id="sys-alerts">Alerts since the start</h2>
      {alerts?.length === 0 && <p class="quiet">None.</p>}
      {alerts !== undefined && alerts.length > 0 && (
        <ul class="sys-list sys-alerts card" tabIndex={0}>
          {alerts.map(({ timestamp, subject, severity, summary }, index) => (
            <li key={`${timestamp} ${subject} ${index}`}>
              <time dateTime={timestamp}>{momentText(Date.parse(timestamp), 1000)}</time>
              <span class={SEVERITY_COLOURS[severity]}>{SEVERITY_TEXTS[severity]}</span>
              <span>{summary}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Limits({ boat }: { boat: BoatStore }) {
  const limits = valueOf(usePolled((signal) => boat.client.limits({ signal }), { everyMs: LIMITS_EVERY_MS }).value);
  if (!limits || limits.length === 0) return null;
  return (
    <details class="sys-limits">
      <summary>
        <h2>Limits in force ({limits.length})</h2>
      </summary>
      <table class="data stack card">
        <thead>
          <tr>
            <th>Setting</th>
            <th class="right">Value</th>
            <th>Beyond it</th>
          </tr>
        </thead>
        <tbody>
          {limits.map(({ name, value, beyond }) => (
            <tr key={name}>
              <td>
                <code>-{name}</code>
              </td>
              <td class="right">{value === "" ? "none" : value}</td>
              <td>{beyond}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function BoatLink({ boat }: { boat: BoatStore }) {
  const status = usePolled((signal) => boat.client.replicationStatus({ signal }), { everyMs: EVERY_MS });
  const now = valueOf(status.value);
  if (!now) return null;
  return (
    <section aria-labelledby="sys-link">
      <h2 id="sys-link">
        Replication <span class={now.connected ? "good" : "warn"}>{now.connected ? "connected" : now.state}</span>
      </h2>
      {now.reason && <p class="warn">{now.reason}</p>}
      <HoleLine ranges={rangesOfBoat(now)} />
      {now.former_epochs?.map(({ epoch, head_seq, holes, lost }) => (
        <div key={epoch}>
          <h3>Earlier epoch {epoch}</h3>
          <HoleLine ranges={{ head: head_seq, holes: holes ?? [], lost, onTheWay: 0 }} />
        </div>
      ))}
    </section>
  );
}

function InCloud({ boat }: { boat: BoatStore }) {
  const { cloud, id = "" } = boat;
  const status = usePolled((signal) => cloud?.status(id, { signal }) ?? Promise.reject(new Error("no cloud")), {
    everyMs: EVERY_MS,
  });
  const events = usePolled((signal) => cloud?.replicationEvents(id, { limit: 20, signal }) ?? Promise.resolve([]), {
    everyMs: EVERY_MS,
  });
  const now = valueOf(status.value);
  if (!now) return status.value.type === "failed" ? <p class="bad" role="alert">{status.value.message}</p> : null;
  return (
    <>
      <section aria-labelledby="sys-link">
        <h2 id="sys-link">
          Replication{" "}
          <span class={now.connected ? "good" : "warn"}>{now.connected ? "connected" : "not connected"}</span>
        </h2>
        <p>
          Recording: {now.recording.state}
          {now.recording.reason && <span class="bad">{now.recording.reason}</span>} · Files:{" "}
          <span class={now.storage.state === "ok" ? "good" : "bad"}>{now.storage.state}</span>
        </p>
        <HoleLine ranges={rangesOfCloud(now)} />
      </section>
      <section aria-labelledby="sys-events">
        <h2 id="sys-events">Events</h2>
        <ul class="sys-list card">
          {valueOf(events.value)?.map(({ time, type, detail }, index) => (
            <li key={`${time} ${index}`}>
              <span class="num">{momentText(Date.parse(time), 1000)}</span>
              <strong>{type.replaceAll("_", " ")}</strong>
              <span>{detail}</span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** All frames on one line, what is missing marked. */
function HoleLine({ ranges }: { ranges: FrameRanges }) {
  const segments = segmentsOf(ranges);
  const [missing, lost] = [countOf(ranges.holes), countOf(ranges.lost)];
  const summary = `${ranges.head} frames; ${missing} not in the cloud yet; ${lost} lost; ${ranges.onTheWay} on the way`;
  return (
    <div class="card">
      <svg class="sys-line" viewBox="0 0 1000 40" preserveAspectRatio="none" role="img" aria-label={summary}>
        {segments.map(({ kind, from, to, text }) => (
          <rect
            key={`${kind} ${from}`}
            class={kind}
            x={from * 1000}
            width={(to - from) * 1000}
            y={kind === "there" ? 12 : 0}
            height={kind === "there" ? 16 : 40}
          >
            <title>{text}</title>
          </rect>
        ))}
      </svg>
      <p class="num">{summary}</p>
      <p class="sys-key">
        <span>
          <i class="there" />in the cloud
        </span>
        <span>
          <i class="hole" />not yet
        </span>
        <span>
          <i class="lost" />lost
        </span>
      </p>
      {segments.some(({ kind }) => kind !== "there") && (
        <ul class="sys-list">
          {segments.filter(({ kind }) => kind !== "there").slice(-10).map(({ text }) => <li key={text}>{text}</li>)}
        </ul>
      )}
    </div>
  );
}
