import { described } from "../api_text.ts";
import { z } from "zod";
import { TOKEN_PARAMETER } from "../auth.ts";
import { type HomePage, homePage, type HomeSection, PAGE_HEADERS, wantsPage } from "./home_page.ts";
import { noQuery } from "../params.ts";
import { json } from "../reply.ts";
import { type About, type Route, route } from "../routes.ts";
import { statusSchema } from "../schemas.ts";

/** JSON form of `/`. */
const homeSchema = z.object({
  name: z.string(),
  version: z.string(),
  status: statusSchema,
  links: described(z.record(z.string(), z.string()), "Paths by name"),
});

/** `/`: a page for browsers, a JSON summary for programs. */
export function homeRoute(page: (about: About) => HomePage): Route {
  return route({
    path: "/",
    summary: "The server's name, state and most useful paths: a page for browsers, JSON for programs",
    query: noQuery,
    replies: { 200: ["application/json", homeSchema] },
    answer: (request, _query, _parts, about) => {
      const shown = page(about);
      const response = wantsPage(request) ? pageReply(shown, request) : json(summaryOf(shown));
      response.headers.append("Vary", "Accept");
      return response;
    },
  });
}

function pageReply(page: HomePage, request: Request): Response {
  const { origin, searchParams } = new URL(request.url);
  const token = searchParams.get(TOKEN_PARAMETER);
  const parameter = token === null ? "" : `${new URLSearchParams({ [TOKEN_PARAMETER]: token })}`;
  return new Response(homePage(page, { origin, parameter }), { headers: PAGE_HEADERS });
}

function summaryOf({ name, version, status, sections }: HomePage): z.infer<typeof homeSchema> {
  const links = sections.flatMap(({ links }) => links).map(({ text, path }): [string, string] => [text, path]);
  return { name, version, status, links: Object.fromEntries(links) };
}

/** Links of every server. */
export const SERVER_SECTION: HomeSection = {
  title: "Server",
  links: [
    { text: "API", path: "/openapi.json", about: "description of all endpoints (OpenAPI)" },
    { text: "PGNs", path: "/pgns", about: "all PGNs that the server can decode" },
    { text: "health", path: "/healthz", about: "health of the server's components" },
    { text: "metrics", path: "/metrics", about: "metrics for Prometheus, as plain text" },
  ],
};
