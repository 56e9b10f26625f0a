import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { fetchWithToken, hasToken } from "../shell/server.ts";
import {
  addressOf,
  type ApiDocument,
  canTry,
  curlOf,
  type Operation,
  operationsOf,
  type Parameter,
  referenceOf,
  type Schema,
  schemaText,
  searchOperations,
} from "./api/operations.ts";
import { firstPart } from "./api/first_part.ts";
import "./api.css";

type Loading = { type: "loading" } | { type: "failed"; message: string } | { type: "ready"; document: ApiDocument };

/** The API, from `/openapi.json`. */
export function Api() {
  const state = useSignal<Loading>({ type: "loading" });
  useEffect(() => {
    fetchWithToken("/openapi.json").then(async (response) => {
      if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
      state.value = { type: "ready", document: await response.json() };
    }).catch((error) => state.value = { type: "failed", message: String(error) });
  }, []);
  const { value } = state;
  return (
    <>
      <h2>API</h2>
      {value.type === "loading" && <p aria-busy="true">Reading the description…</p>}
      {value.type === "failed" && <p class="bad" role="alert">No answer: {value.message}</p>}
      {value.type === "ready" && <Operations document={value.document} />}
    </>
  );
}

function Operations({ document }: { document: ApiDocument }) {
  const text = useSignal("");
  const all = useMemo(() => operationsOf(document), [document]);
  const found = searchOperations(text.value, all);
  const schemas = document.components?.schemas ?? {};
  return (
    <>
      <p class="quiet">
        {document.info.title} {document.info.version}. Programs find the same at{" "}
        <a href="/openapi.json">/openapi.json</a>.
      </p>
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <label for="api-search">Search</label>{" "}
        <input
          id="api-search"
          type="search"
          placeholder="path, word, parameter"
          value={text.value}
          onInput={({ currentTarget: { value } }) => text.value = value}
        />{" "}
        <span class="quiet num" role="status">{found.length} of {all.length}</span>
      </form>
      {Array.from(Map.groupBy(found, ({ group }) => group), ([group, list]) => (
        <section key={group} aria-label={group}>
          <h3>{group}</h3>
          {list.map((each) => <Item key={each.id} operation={each} schemas={schemas} />)}
        </section>
      ))}
    </>
  );
}

interface ItemProps {
  operation: Operation;
  schemas: Record<string, Schema>;
}

function Item({ operation, schemas }: ItemProps) {
  const isOpen = useSignal(false);
  const { method, path, summary } = operation;
  return (
    <details class="card api-item" onToggle={({ currentTarget: { open } }) => isOpen.value = open}>
      <summary>
        <span class={`mono api-method api-${method.toLowerCase()}`}>{method}</span>
        <span class="mono api-path">{path}</span>
        <span class="quiet api-summary">{summary}</span>
      </summary>
      {isOpen.value && <Details operation={operation} schemas={schemas} />}
    </details>
  );
}

function Details({ operation, schemas }: ItemProps) {
  const values = useSignal<ReadonlyMap<string, string>>(new Map());
  const { parameters, body, responses } = operation;
  const hasTry = canTry(operation);
  const set = (name: string, value: string) => values.value = new Map(values.value).set(name, value);
  return (
    <>
      {parameters.length > 0 && <h4>Parameters</h4>}
      {parameters.map((each) => (
        <Row
          key={each.name}
          parameter={each}
          value={values.value.get(each.name) ?? ""}
          onInput={hasTry ? set : undefined}
        />
      ))}
      {body && (
        <>
          <h4>Body</h4>
          <SchemaView schema={body} schemas={schemas} />
        </>
      )}
      <h4>Responses</h4>
      <ul class="api-list">
        {responses.map(({ status, description, type, schema }) => (
          <li key={status}>
            <strong class="num">{status}</strong> {description} <span class="quiet">{type}</span>
            {schema && <SchemaView schema={schema} schemas={schemas} />}
          </li>
        ))}
      </ul>
      <Command line={curlOf(operation, { origin: location.origin, values: values.value, hasToken: hasToken() })} />
      {hasTry && <Try operation={operation} values={values.value} />}
    </>
  );
}

function Row({ parameter: { name, in: where, required, schema = {}, description }, value, onInput }: {
  parameter: Parameter;
  value: string;
  onInput: ((name: string, value: string) => void) | undefined;
}) {
  const isList = [schema.type].flat().includes("array");
  return (
    <label class="api-parameter">
      <span>
        <strong class="mono">{name}</strong> {required ? "required" : ""} <span class="quiet">in {where}</span>
      </span>
      {onInput && (
        <input
          class="mono"
          value={value}
          placeholder={isList ? "several with commas" : schema.example === undefined ? "" : String(schema.example)}
          autocapitalize="off"
          spellcheck={false}
          onInput={({ currentTarget }) => onInput(name, currentTarget.value)}
        />
      )}
      <span class="api-about">
        {schemaText(schema)} <span class="quiet">{description ?? schema.description}</span>
      </span>
    </label>
  );
}

/** A schema; the ones that it refers to are shown when they are opened. */
function SchemaView({ schema, schemas }: { schema: Schema; schemas: Record<string, Schema> }) {
  const name = referenceOf(schema);
  const target = name === undefined ? undefined : schemas[name];
  const parts = [...schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [], ...schema.items ? [schema.items] : []];
  const { additionalProperties: others } = schema;
  if (typeof others === "object") parts.push(others);
  if (target) {
    return (
      <Folded name={name ?? ""}>
        <SchemaView schema={target} schemas={schemas} />
      </Folded>
    );
  }
  return (
    <div class="api-schema">
      {!schema.properties && <span>{schemaText(schema)}</span>}
      {parts.filter(isNested).map((part, index) => <SchemaView key={index} schema={part} schemas={schemas} />)}
      {schema.properties && (
        <ul class="api-list">
          {Object.entries(schema.properties).map(([key, property]) => (
            <li key={key}>
              <strong class="mono">{key}</strong> {schemaText(property)}{" "}
              <span class="quiet">
                {schema.required?.includes(key) ? "" : "may be left out. "}
                {property.description}
              </span>
              {isNested(property) && (
                <Folded name="more">
                  <SchemaView schema={property} schemas={schemas} />
                </Folded>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function isNested(schema: Schema): boolean {
  const { $ref, properties, items, anyOf, oneOf, allOf, additionalProperties: others } = schema;
  const parts = [
    ...anyOf ?? oneOf ?? allOf ?? [],
    ...items ? [items] : [],
    ...typeof others === "object" ? [others] : [],
  ];
  return $ref !== undefined || properties !== undefined || parts.some(isNested);
}

function Folded({ name, children }: { name: string; children: ComponentChildren }) {
  const isOpen = useSignal(false);
  return (
    <details onToggle={(event) => (event.stopPropagation(), isOpen.value = event.currentTarget.open)}>
      <summary>{name}</summary>
      {isOpen.value && children}
    </details>
  );
}

function Command({ line }: { line: string }) {
  const said = useSignal("Copy");
  const copy = async (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const code = event.currentTarget.previousElementSibling;
    try {
      await navigator.clipboard.writeText(line);
      said.value = "Copied";
    } catch {
      // Without HTTPS a page may not write to the clipboard: the skipper copies what is selected.
      if (code) getSelection()?.selectAllChildren(code);
      said.value = "Selected";
    }
  };
  return (
    <p class="api-command">
      <code>{line}</code>
      <button type="button" onClick={copy}>{said.value}</button>
    </p>
  );
}

type Reply = { type: "none" } | { type: "waiting" } | { type: "reply"; status: string; text: string; note: string };

function Try({ operation, values }: { operation: Operation; values: ReadonlyMap<string, string> }) {
  const reply = useSignal<Reply>({ type: "none" });
  const send = async () => {
    reply.value = { type: "waiting" };
    try {
      reply.value = {
        type: "reply",
        ...await firstPart((signal) => fetchWithToken(addressOf(operation, values), { signal })),
      };
    } catch (error) {
      reply.value = { type: "reply", status: "No answer", text: String(error), note: "" };
    }
  };
  const { value } = reply;
  const missing = operation.parameters.filter(({ name, required }) => required && !values.get(name));
  return (
    <>
      <button type="button" disabled={value.type === "waiting" || missing.length > 0} onClick={send}>Try it</button>
      {" "}
      {missing.length > 0 && <span class="quiet">needs {missing.map(({ name }) => name).join(", ")}</span>}
      {value.type === "waiting" && <span role="status">waiting…</span>}
      {value.type === "reply" && (
        <div role="status">
          <p>
            <strong>{value.status}</strong> <span class="quiet">{value.note}</span>
          </p>
          <pre class="api-reply" tabIndex={0}>{value.text}</pre>
        </div>
      )}
    </>
  );
}
