import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { KnownPgn, PgnDetails } from "@vessel/gateway/client";
import type { BoatStore } from "../../shell/boat_store.ts";
import { MAX_CHOSEN } from "./place.ts";
import {
  type Chartable,
  CHARTABLE_QUANTITIES,
  choiceLabel,
  fieldsOfPgn,
  pgnsNamed,
  quantitiesOf,
  search,
} from "./quantity_fields.ts";

/** Fields of so many PGNs are listed. */
const MAX_PGNS = 8;
/** Most results that are shown. */
const MAX_RESULTS = 60;

/** The chosen quantities and fields, and a search box for more. */
export function FieldPicker({ boat, chosen, onChange }: {
  boat: BoatStore;
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}) {
  const text = useSignal("");
  const isOpen = useSignal(false);
  const finder = useMemo(() => new FieldFinder(boat), [boat]);
  const found = useSignal<Found | undefined>(undefined);
  useEffect(() => {
    if (!isOpen.value) return;
    let isNewest = true;
    void finder.find(text.value).then((result) => {
      if (isNewest) found.value = result;
    });
    return () => {
      isNewest = false;
    };
  }, [isOpen.value, text.value, finder]);
  const isFull = chosen.length >= MAX_CHOSEN;
  const input = useRef<HTMLInputElement>(null);
  const choose = (id: string, isByKey: boolean) => {
    // The button goes away: without another place for the focus, the list would close.
    if (isPgn(id) || isByKey) input.current?.focus();
    if (isPgn(id)) return void (text.value = `${id} `);
    if (!chosen.includes(id) && !isFull) onChange([...chosen, id]);
    text.value = "";
    isOpen.value = false;
  };
  const free = (found.value?.results ?? []).filter(({ id }) => !chosen.includes(id));
  return (
    <div
      class="hist-picker"
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) isOpen.value = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        isOpen.value = false;
      }}
    >
      <Chips chosen={chosen} onChange={onChange} />
      <form role="search" onSubmit={(event) => (event.preventDefault(), free[0] && choose(free[0].id, true))}>
        <label for="hist-search" class="hidden-text">Add a quantity or a field</label>
        <input
          id="hist-search"
          ref={input}
          type="search"
          autocomplete="off"
          placeholder={isFull ? `${MAX_CHOSEN} at most` : "Add: depth, 127508, voltage …"}
          disabled={isFull}
          value={text.value}
          aria-controls={isOpen.value ? "hist-results" : undefined}
          onFocus={() => isOpen.value = true}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            isOpen.value = true;
          }}
        />
        {isOpen.value && (
          <Results list={free.slice(0, MAX_RESULTS)} note={noteOf(found.value, free.length)} onChoose={choose} />
        )}
      </form>
    </div>
  );
}

function Chips({ chosen, onChange }: { chosen: readonly string[]; onChange: (chosen: readonly string[]) => void }) {
  return (
    <ul class="hist-chips" aria-label="Charted">
      {chosen.map((id) => (
        <li key={id}>
          <button
            type="button"
            aria-label={`Remove ${choiceLabel(id)}`}
            onClick={() => onChange(chosen.filter((each) => each !== id))}
          >
            {choiceLabel(id)} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Results({ list, note, onChoose }: {
  list: readonly Chartable[];
  note: string;
  onChoose: (id: string, isByKey: boolean) => void;
}) {
  return (
    <div id="hist-results" class="card hist-results">
      <ul>
        {list.map(({ id, label, about }) => (
          <li key={id}>
            <button type="button" onClick={({ detail }) => onChoose(id, detail === 0)}>
              {label} <span class="quiet">{about}</span>
            </button>
          </li>
        ))}
      </ul>
      <p class="quiet" role="status">{note}</p>
    </div>
  );
}

interface Found {
  results: readonly Chartable[];
  note: string;
}

/** A result may be a PGN, whose fields are listed when it is chosen. */
function isPgn(id: string): boolean {
  return /^\d+$/.test(id);
}

function noteOf(found: Found | undefined, free: number): string {
  if (!found) return "Searching…";
  if (free === 0) return "Nothing else has this name.";
  return free > MAX_RESULTS ? `${free - MAX_RESULTS} more: type more of the name.` : found.note;
}

/** Finds quantities, and fields of PGNs that the server can decode. */
class FieldFinder {
  readonly #boat: BoatStore;
  #keys: Promise<readonly string[]> | undefined;
  #pgns: Promise<readonly KnownPgn[]> | undefined;

  constructor(boat: BoatStore) {
    this.#boat = boat;
  }

  async find(text: string): Promise<Found> {
    const { client } = this.#boat;
    if (text.trim() === "") {
      this.#keys ??= client.sources().then((list) => list.map(({ quantity }) => quantity), () => []);
      const live = quantitiesOf(await this.#keys);
      return live.length === 0
        ? { results: CHARTABLE_QUANTITIES, note: "" }
        : { results: live, note: "These are on the bus now. Type to find others, and fields of any PGN." };
    }
    this.#pgns ??= client.pgns().catch(() => {
      this.#pgns = undefined;
      return [];
    });
    const quantities = search(text, CHARTABLE_QUANTITIES);
    const named = pgnsNamed(text, await this.#pgns);
    if (named.length > MAX_PGNS) {
      const pgns = named.map(({ pgn, description }) => ({ id: String(pgn), label: `PGN ${pgn}`, about: description }));
      return { results: [...quantities, ...pgns], note: "" };
    }
    const details = await Promise.all(named.map(({ pgn }) => this.#boat.describe(pgn)));
    const fields = details.filter((each): each is PgnDetails => each !== undefined).flatMap(fieldsOfPgn);
    return { results: [...quantities, ...search(text, fields)], note: "" };
  }
}
