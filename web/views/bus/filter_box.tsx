import { useSignal } from "@preact/signals";
import type { BusMonitor } from "./monitor.ts";

/** Expressions to begin with. */
const EXAMPLES: readonly [string, string][] = [
  ["pgn == 127250", "one PGN"],
  ["pgn in [127488, 127489]", "several PGNs"],
  ["src == 35 or dst == 35", "from and to an address"],
  ['src.manufacturer == "Garmin"', "from devices of a maker"],
  ["wind_speed > 15 kn", "by a decoded field, in any unit"],
  ['pgn == 127505 and fluid_type == "Fuel"', "by a label"],
  ["not pgn in [126992, 126993]", "everything else"],
];

/** Filters messages by an expression: the same as `-where` on the command line. */
export function FilterBox({ monitor, first, onApply }: {
  monitor: BusMonitor;
  first: string;
  onApply: (text: string) => void;
}) {
  const text = useSignal(first);
  const hasHelp = useSignal(false);
  const state = monitor.filter.value;
  const apply = (given: string) => {
    text.value = given;
    onApply(given);
  };
  return (
    <form class="bus-filter" role="search" onSubmit={(event) => (event.preventDefault(), apply(text.value))}>
      <label for="bus-where">Filter</label>
      <input
        id="bus-where"
        class="mono"
        value={text.value}
        placeholder="such as pgn == 127250"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={state.type === "wrong"}
        aria-describedby="bus-where-error"
        onInput={({ currentTarget }) => text.value = currentTarget.value}
      />
      <button type="submit">Apply</button>
      <button type="button" disabled={text.value === ""} onClick={() => apply("")}>Clear</button>
      <button
        type="button"
        aria-expanded={hasHelp.value}
        aria-controls="bus-help"
        aria-label="Help and examples"
        onClick={() => hasHelp.value = !hasHelp.value}
      >
        ?
      </button>
      <div id="bus-where-error" class="bus-error bad" role="alert">
        {state.type === "wrong" && <Mistake message={state.message} />}
      </div>
      {hasHelp.value && (
        <div id="bus-help" class="card bus-help">
          <p>
            Compare with == != &lt; &lt;= &gt; &gt;= contains, in [ ]; join with and, or, not and parentheses. Names are
            pgn, src, dst, prio, seq, bus, those of a device (src.manufacturer, src.model_id, src.name) and of decoded
            fields. The command line takes the same expressions: <code>vbg dump -where</code>.
          </p>
          <ul>
            {EXAMPLES.map(([example, what]) => (
              <li key={example}>
                <button type="button" class="mono" onClick={() => apply(example)}>{example}</button> {what}
              </li>
            ))}
          </ul>
        </div>
      )}
    </form>
  );
}

/** What is wrong, and the lines that point at it. */
function Mistake({ message }: { message: string }) {
  const [what, ...lines] = message.split("\n");
  return (
    <>
      <p>{what}</p>
      <pre>{lines.join("\n")}</pre>
    </>
  );
}
