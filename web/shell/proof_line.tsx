import type { Proof } from "@vessel/gateway/client";
import type { BoatStore } from "./boat_store.ts";
import { usePolled, valueOf } from "./polled.ts";
import { countsOf, countText, type ProofCounts, reasonText, whyText } from "./proof_counts.ts";
import "./proof_line.css";

const EVERY_MS = 2000;
/** Age from which the counts of a cloud say it. */
const OLD_MS = 30_000;

/** One line: frames seen, recorded, in the cloud, missing, and why. */
export function ProofLine({ boat }: { boat: BoatStore }) {
  const isCloud = boat.cloud !== undefined;
  const state = usePolled((signal) => boat.client.proof({ signal }), { everyMs: EVERY_MS, of: [boat] });
  const proof = valueOf(state.value);
  const isOld = state.value.type === "failed";
  return (
    <details class="proof">
      <summary>
        {proof
          ? <ProofCountsLine line={countsOf(proof, isCloud)} note={noteOf(boat, { proof, isOld })} />
          : <span class="proof-line quiet">{isOld ? "The server does not count frames" : "Counting frames…"}</span>}
      </summary>
      {proof && <Details proof={proof} isCloud={isCloud} />}
    </details>
  );
}

/** The counts. They keep their height, whatever they say. */
export function ProofCountsLine({ line, note }: { line: ProofCounts; note?: string | undefined }) {
  return (
    <div class={note === undefined ? "proof-line" : "proof-line quiet"}>
      {line.counts.map(({ name, count }) => (
        <span key={name} class="proof-count">
          <small>{name}</small> <strong class="num">{count === undefined ? "–" : countText(count)}</strong>
        </span>
      ))}
      <Missing line={line} note={note} />
    </div>
  );
}

/** Why the counts may be old. */
function noteOf(boat: BoatStore, { proof: { as_of }, isOld }: { proof: Proof; isOld: boolean }): string | undefined {
  if (isOld) return "No answer from the server: these are the last counts";
  if (boat.cloud === undefined || as_of === null || boat.clock.nowMs - Date.parse(as_of) < OLD_MS) return undefined;
  return `As of the boat's last message, ${timeText(as_of)}`;
}

function Missing({ line, note }: { line: ProofCounts; note: string | undefined }) {
  const { missing } = line;
  return (
    <>
      <span class="proof-count">
        <small>Missing</small>{" "}
        <strong class={`num ${missing > 0 ? "bad" : "good"}`}>{missing > 0 ? `▲ ${countText(missing)}` : "✓ 0"}</strong>
      </span>
      <span class={`proof-reason ${missing > 0 ? "bad" : "quiet"}`}>
        {note ?? whyText(line)}
      </span>
    </>
  );
}

function Details({ proof, isCloud }: { proof: Proof; isCloud: boolean }) {
  const { first, seen, as_of, on_the_way, missing, earlier, unclear, not_numbered } = proof;
  return (
    <div class="proof-details">
      <p>
        {isCloud
          ? `Frames that the boat has numbered in this epoch, as of ${timeText(as_of)}.`
          : `Frames since the start of the boat server: numbers ${countText(first)} to ${countText(first + seen - 1)}.`}
      </p>
      <ul>
        {on_the_way.journal > 0 && <li>{countText(on_the_way.journal)} wait for the next sync of the disk</li>}
        {on_the_way.cloud > 0 && (
          <li>{countText(on_the_way.cloud)} are on the way to the cloud, or not confirmed yet</li>
        )}
        {missing.map((each) => <li key={each.where + each.reason} class="bad">{reasonText(each)}</li>)}
        {earlier?.map((each) => <li key={each.reason} class="bad">From before: {reasonText(each)}</li>)}
        {earlier === null && <li>What the cloud lacks from before the start is known when it is connected.</li>}
        {missing.length === 0 && earlier?.length === 0 && <li class="good">Nothing is missing.</li>}
        {unclear.map(({ count, reason }) => (
          <li key={reason} class="warn">At most {countText(count)} more are not recorded: {reason}</li>
        ))}
        {not_numbered?.map(({ count, bus, reason }) => (
          <li key={bus + reason} class="warn">{countText(count)} CAN frames of {bus} without a number: {reason}</li>
        ))}
      </ul>
    </div>
  );
}

function timeText(time: string | null): string {
  return time === null ? "never" : new Date(time).toLocaleTimeString();
}
