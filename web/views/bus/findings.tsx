import { useSignal } from "@preact/signals";
import { ApiError, type NetworkFinding } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";
import { usePolled, valueOf } from "../../shell/polled.ts";
import { linkTo } from "../../shell/router.ts";
import { momentText } from "../time_text.ts";

/** Interval of asking for the findings, milliseconds. */
const EVERY_MS = 5000;
const SEVERITIES = {
  critical: { word: "Critical", colour: "bad" },
  warning: { word: "Warning", colour: "warn" },
  info: { word: "Note", colour: "quiet" },
} as const;

/** What the network doctor has found, and a button that keeps the frames around now. Nothing where it is off. */
export function Findings({ boat }: { boat: BoatStore }) {
  const report = usePolled((signal) => boat.client.doctor({ signal }), { everyMs: EVERY_MS, of: [boat] });
  const { findings, buses } = valueOf(report.value) ?? {};
  if (!findings || !buses) return null;
  const isMeasured = buses.some(({ peak_at }) => peak_at !== undefined);
  return (
    <section aria-labelledby="bus-findings" class="card bus-findings">
      <h2 id="bus-findings">What is wrong</h2>
      {findings.length === 0
        ? isMeasured
          ? <p class="good">The network doctor has found nothing.</p>
          : <p class="quiet">No traffic was measured yet: nothing could be checked.</p>
        : <ul>{findings.map((each) => <Row key={keyOf(each)} boat={boat} finding={each} />)}</ul>}
      <Mark boat={boat} />
    </section>
  );
}

function Row({ boat, finding }: { boat: BoatStore; finding: NetworkFinding }) {
  const { severity, text, advice, bus, src, pgn, since } = finding;
  const { word, colour } = SEVERITIES[severity];
  const messages = [src !== undefined && `src == ${src}`, pgn !== undefined && `pgn == ${pgn}`].filter(Boolean);
  return (
    <li>
      <p>
        <strong class={colour}>{word}:</strong> {text}
      </p>
      <p>{advice}</p>
      <p class="quiet">
        {bus}, since {momentText(Date.parse(since), 1000)}
        {messages.length > 0 && (
          <>
            {" · "}
            <a href={linkTo("bus", { boat: boat.id, rest: messages.join(" and ") })}>its messages</a>
          </>
        )}
      </p>
    </li>
  );
}

/** For the moment when somebody sees something odd: a dealer can look at the frames later. */
function Mark({ boat }: { boat: BoatStore }) {
  const outcome = useSignal<{ isGood: boolean; text: string }>({ isGood: true, text: "" });
  const mark = async () => {
    try {
      const { name, is_new } = await boat.client.mark();
      outcome.value = { isGood: true, text: `${is_new ? "Kept in" : "Is in"} the black box: ${name}` };
    } catch (error) {
      outcome.value = { isGood: false, text: error instanceof ApiError ? error.problem.detail : String(error) };
    }
  };
  return (
    <>
      <button type="button" onClick={() => void mark()}>Keep the frames around now</button>
      <p role="status" class={outcome.value.isGood ? "good" : "bad"}>{outcome.value.text}</p>
    </>
  );
}

function keyOf({ kind, bus, src, name, pgn, since }: NetworkFinding): string {
  return [kind, bus, src, name, pgn, since].join(" ");
}
