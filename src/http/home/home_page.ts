import { createHash } from "node:crypto";
import type { ComponentHealth, HealthStatus } from "../schemas.ts";

/** Contents of the home page. */
export interface HomePage {
  /** Name of the boat or the server. */
  name: string;
  version: string;
  status: HealthStatus;
  /** Short facts, such as `12 devices`. */
  facts: readonly string[];
  /** Components of the server; the page lists those that are not `ok`. */
  components: Readonly<Record<string, ComponentHealth>>;
  /** Path of a boat, for an example of `vbg`; undefined: no boat. */
  boatPath: string | undefined;
  sections: readonly HomeSection[];
}

/** Links under a heading. */
export interface HomeSection {
  title: string;
  links: readonly HomeLink[];
}

/** A link to a path of this server. */
export interface HomeLink {
  path: string;
  text: string;
  /** Description; names the format of the reply if it is not JSON. */
  about: string;
}

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:44rem;padding:1rem}
h1{margin:.5rem 0 0;overflow-wrap:anywhere}
h2{margin:1.5rem 0 .25rem;font-size:1.1rem}
ul{list-style:none;margin:0;padding:0}
li{display:flex;gap:.75rem;padding:.5rem 0;border-top:1px solid #8884}
li>*{flex:0 0 8rem;overflow-wrap:anywhere}
li>span{flex:1}
a{font-weight:600}
code{font:.9em ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.5rem;background:#8882;border-radius:.3rem}
.ok{color:#187a3c}.degraded{color:#a35c00}.unhealthy{color:#c02020}
@media(prefers-color-scheme:dark){.ok{color:#5fd38a}.degraded{color:#ffb454}.unhealthy{color:#ff7b7b}a{color:#8ab4ff}}
`;
const STYLE_DIGEST = createHash("sha256").update(STYLE).digest("base64");

/** Headers of the page: no scripts, no subresources, only its own style. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy":
    `default-src 'none'; style-src 'sha256-${STYLE_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

/** True if a request prefers HTML to JSON: browsers accept `text/html`, programs do not name it. */
export function wantsPage({ headers }: Request): boolean {
  return headers.get("Accept")?.toLowerCase().includes("text/html") ?? false;
}

/**
 * Renders the page: no scripts, no other files.
 *
 * @param options.origin scheme, host and port of the request, for the examples
 * @param options.parameter query parameter added to each link: the token, if the request URL had one
 */
export function homePage(page: HomePage, { origin, parameter }: { origin: string; parameter: string }): string {
  const { name, version, status, facts, components, sections, boatPath } = page;
  const bad = Object.entries(components).filter(([, part]) => part.status !== "ok");
  const examples = [
    `curl ${origin}/openapi.json`,
    ...sections.flatMap(({ links }) => links).slice(0, 2).map(({ path }) => `curl ${origin}${path}`),
    ...(boatPath === undefined ? [] : [`vbg top -server ${origin}${boatPath}`]),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(name)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(name)}</h1>
<p><strong class="${status}">${status}</strong>${facts.map((fact) => ` · ${escapeHtml(fact)}`).join("")}</p>
${
    bad.length === 0 ? "" : listOf(
      bad.map(([part, { status, message = "" }]) =>
        `<strong class="${status}">${escapeHtml(part)}: ${status}</strong> <span>${escapeHtml(message)}</span>`
      ),
    )
  }${sections.map((section) => sectionText(section, parameter)).join("")}<h2>Documentation</h2>
<p>Links return JSON unless their description names another format. In a terminal:</p>
<pre><code>${escapeHtml(examples.join("\n"))}</code></pre>
<p>Vessel Bus Gateway ${
    escapeHtml(version)
  }. <code>vbg help</code> lists all commands; guides are in <code>README.md</code> and <code>docs</code> of the program.</p>
</body>
</html>
`;
}

/** Escapes text for an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

function sectionText({ title, links }: HomeSection, parameter: string): string {
  if (links.length === 0) return "";
  const items = links.map(({ path, text, about }) => {
    const joint = parameter === "" ? "" : path.includes("?") ? "&" : "?";
    return `<a href="${escapeHtml(path + joint + parameter)}">${escapeHtml(text)}</a> <span>${
      escapeHtml(about)
    }</span>`;
  });
  return `<h2>${escapeHtml(title)}</h2>\n${listOf(items)}`;
}

function listOf(items: readonly string[]): string {
  return `<ul>\n${items.map((item) => `<li>${item}</li>`).join("\n")}\n</ul>\n`;
}
