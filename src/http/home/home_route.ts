import { apiText } from "../api_text.ts";
import { z } from "zod";
import { TOKEN_PARAMETER } from "../auth.ts";
import { type HomePage, homePage, type HomeSection, PAGE_HEADERS, wantsPage } from "./home_page.ts";
import { noQuery } from "../params.ts";
import { json } from "../reply.ts";
import { type About, type Route, route } from "../routes.ts";

/** What a program gets at `/`. */
const homeSchema = z.object({
  name: z.string(),
  version: z.string(),
  status: z.enum(["ok", "degraded", "unhealthy"]),
  links: z.record(z.string(), z.string()).clone().register(apiText, { description: "Paths, by what is there" }),
});

/** `/`: a page for browsers, the same in short as JSON for programs. */
export function homeRoute(page: (about: About) => HomePage): Route {
  return route({
    path: "/",
    summary: "The server's name, state and most useful paths: a page for browsers, JSON for programs",
    query: noQuery,
    replies: { 200: ["application/json", homeSchema] },
    answer: (request, _query, _parts, about) => {
      const shown = page(about);
      const response = wantsPage(request) ? pageReply(shown, request) : json(inShort(shown));
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

function inShort({ name, version, status, sections }: HomePage): z.infer<typeof homeSchema> {
  const links = sections.flatMap(({ links }) => links).map(({ text, path }): [string, string] => [text, path]);
  return { name, version, status, links: Object.fromEntries(links) };
}

/** What every server has. */
export const SERVER_SECTION: HomeSection = {
  title: "Server",
  links: [
    { text: "API", path: "/openapi.json", about: "description of all requests (OpenAPI)" },
    { text: "PGNs", path: "/pgns", about: "all messages that can be decoded" },
    { text: "health", path: "/healthz", about: "state of the server's parts" },
    { text: "metrics", path: "/metrics", about: "figures for Prometheus, as plain text" },
  ],
};
