import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { KnownPgn, MessageToSend, PgnDetails, PgnLayout } from "@vessel/gateway/client";
import type { BoatStore } from "../shell/boat_store.ts";
import { fieldsOf, type Input, inputsOf } from "./send_fields.ts";

type Outcome = { type: "none" } | { type: "sent" } | { type: "refused"; message: string };

/** What was typed, by the name of the input. */
interface Typed {
  value: Record<string, string>;
}

/** Sends one message: its fields by a form made from the PGN's description, or its payload as hex. */
export function SendForm({ boat }: { boat: BoatStore }) {
  const [pgns, setPgns] = useState<readonly KnownPgn[]>([]);
  const [details, setDetails] = useState<PgnDetails | undefined>();
  const [layout, setLayout] = useState(0);
  const typed = useSignal<Record<string, string>>({});
  const outcome = useSignal<Outcome>({ type: "none" });
  useEffect(() => {
    boat.client.pgns().then(setPgns, (error) => outcome.value = refused(error));
  }, [boat]);
  const choose = async (text: string) => {
    const pgn = Number(/^\s*(\d+)/.exec(text)?.[1] ?? NaN);
    setLayout(0);
    typed.value = {};
    setDetails(Number.isNaN(pgn) ? undefined : await boat.describe(pgn));
  };
  const chosen = details?.layouts[layout];
  const inputs = chosen ? inputsOf(chosen) : [];
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!details) return;
    const { dst, data, ...fields } = typed.value;
    const to = dst ? { dst: Number(dst) } : {};
    const content = data ? { data: data.replaceAll(/\s/g, "") } : { fields: fieldsOf(inputs, fields) };
    const message: MessageToSend = { pgn: details.pgn, ...to, ...content };
    try {
      await boat.client.send(message);
      outcome.value = { type: "sent" };
    } catch (error) {
      outcome.value = refused(error);
    }
  };
  return (
    <form class="send-form card" onSubmit={submit}>
      <label for="send-pgn">PGN or its name</label>
      <input
        id="send-pgn"
        list="send-pgns"
        autocomplete="off"
        onChange={({ currentTarget }) => void choose(currentTarget.value)}
      />
      <datalist id="send-pgns">
        {pgns.map(({ pgn, description }) => <option key={pgn} value={`${pgn} ${description}`} />)}
      </datalist>
      {details && <LayoutChoice layouts={details.layouts} chosen={layout} choose={setLayout} />}
      {details && <Fields inputs={inputs} typed={typed} />}
      <p role="status" class={outcome.value.type === "refused" ? "bad" : "good"}>
        {outcome.value.type === "sent"
          ? "Queued for the bus"
          : outcome.value.type === "refused"
          ? outcome.value.message
          : ""}
      </p>
    </form>
  );
}

function LayoutChoice({ layouts, chosen, choose }: {
  layouts: readonly PgnLayout[];
  chosen: number;
  choose: (index: number) => void;
}) {
  if (layouts.length < 2) return null;
  return (
    <>
      <label for="send-layout">Layout</label>
      <select id="send-layout" value={chosen} onChange={({ currentTarget }) => choose(Number(currentTarget.value))}>
        {layouts.map(({ description }, index) => <option key={index} value={index}>{description}</option>)}
      </select>
    </>
  );
}

function Fields({ inputs, typed }: { inputs: readonly Input[]; typed: Typed }) {
  return (
    <>
      <FieldInput
        input={{ name: "dst", unit: undefined, hint: "255: all devices", choices: undefined }}
        label="Destination"
        typed={typed}
      />
      {inputs.map((input) => (
        <FieldInput key={input.name} input={input} label={input.name.replaceAll("_", " ")} typed={typed} />
      ))}
      <FieldInput
        input={{ name: "data", unit: undefined, hint: "replaces the fields", choices: undefined }}
        label="Payload as hex"
        typed={typed}
      />
      <button type="submit">Send to the bus</button>
    </>
  );
}

function FieldInput({ input, label, typed }: { input: Input; label: string; typed: Typed }) {
  const { name, unit, hint, choices } = input;
  const id = `send-${name}`;
  const changed = (text: string) => typed.value = { ...typed.value, [name]: text };
  return (
    <>
      <label for={id}>{label}{unit && ` (${unit})`}</label>
      {choices
        ? (
          <select
            id={id}
            value={typed.value[name] ?? ""}
            onChange={({ currentTarget }) => changed(currentTarget.value)}
          >
            <option value="">not available</option>
            {choices.map((each) => <option key={each} value={each}>{each}</option>)}
          </select>
        )
        : (
          <input
            id={id}
            value={typed.value[name] ?? ""}
            placeholder={hint}
            onInput={({ currentTarget }) => changed(currentTarget.value)}
          />
        )}
    </>
  );
}

function refused(error: unknown): Outcome {
  return { type: "refused", message: error instanceof Error ? error.message : String(error) };
}
