import { described } from "../api_text.ts";
import { z } from "zod";
import { noQuery } from "../params.ts";
import { json } from "../reply.ts";
import { type About, type Route, route } from "../routes.ts";
import { type HealthStatus, statusSchema } from "../schemas.ts";

/** Summary of a server. */
export interface Home {
  kind: "boat" | "cloud";
  /** Name of the server. */
  name: string;
  version: string;
  status: HealthStatus;
  /** Whether the caller may send messages to the bus. */
  may_send: boolean;
  /** The most useful paths by name. */
  links: Readonly<Record<string, string>>;
  /** Web apps that the server serves, too; left out: none. */
  web_apps?: readonly { title: string; path: string }[];
}

const homeSchema = z.object({
  kind: described(z.enum(["boat", "cloud"]), "One boat, or a cloud with /instances"),
  name: z.string(),
  version: z.string(),
  status: statusSchema,
  may_send: described(z.boolean(), "This client may send messages to the bus: sending is on, and its token permits it"),
  links: described(z.record(z.string(), z.string()), "Paths by name"),
  web_apps: described(z.array(z.object({ title: z.string(), path: z.string() })).optional(), "Web apps such as KIP"),
});

/** `/`: a JSON summary for programs. Browsers get the page instead: see `page.ts`. */
export function homeRoute(home: (about: About) => Home): Route {
  return route({
    path: "/",
    summary: "The server's name, state and most useful paths: a page for browsers, JSON for programs",
    query: noQuery,
    replies: { 200: ["application/json", homeSchema] },
    answer: (_request, _query, _parts, about) => {
      const response = json(home(about));
      response.headers.append("Vary", "Accept");
      return response;
    },
  });
}

/** Links of every server. */
export const SERVER_LINKS = { API: "/openapi.json", PGNs: "/pgns", health: "/healthz", metrics: "/metrics" } as const;
