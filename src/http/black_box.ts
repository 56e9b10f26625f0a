import { z } from "zod";
import type { BlackBoxFile, Noted } from "../blackbox/mod.ts";
import { apiText, described, named } from "./api_text.ts";
import { noQuery } from "./params.ts";
import { ApiError, json, jsonList, overloaded } from "./reply.ts";
import { route, type RouteTable, routeWithBody, routeWithParts } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

/** What the endpoints need of a black box. */
export interface BlackBoxApi {
  /** All events, newest first. */
  list(): BlackBoxFile[];
  /** Path of a complete file; undefined: there is none of this name. */
  pathOf(name: string): string | undefined;
  /** Notes a mark; undefined: too many events wait for their last frames. */
  mark(text: string): Noted | undefined;
}

/** Longest text of a mark, characters. */
export const MAX_MARK_CHARS = 500;

const time = described(z.string(), { format: "date-time" });
const binary = z.string().clone().register(apiText, { type: "string", format: "binary" });

const markBody = z.strictObject({
  text: described(z.string().max(MAX_MARK_CHARS).optional(), "What happened, for people"),
}).default({}).clone().register(apiText, { refId: "Mark" });

const markedSchema = named("Marked", {
  name: described(z.string(), "File that the mark belongs to"),
  is_new: described(z.boolean(), "False: there was a mark less than ten minutes before, and this is its file"),
});

const fileSchema = named("BlackBoxFile", {
  name: described(z.string(), "Name of the file"),
  kind: described(z.string(), "What happened, for programs: mark, mob, or the type of an alert or finding"),
  subject: described(z.string(), "What it is about; one file for each subject and ten minutes"),
  text: described(z.string(), "One sentence for people"),
  time: described(time, "Of the event"),
  complete: described(z.boolean(), "False: the frames are written a minute after the event"),
  bytes: described(z.int(), "0 until it is complete"),
  from: described(time.optional(), "Time of its first frame"),
  to: described(time.optional(), "Time of its last frame"),
  frames: z.int().optional(),
  missing: described(z.int().optional(), "Frames that were numbered in this time and are not in the file"),
  interrupted: described(
    z.boolean().optional(),
    "The server was not running all the time: it is not known what was on the bus then",
  ),
});

/** A file of a black box, as it is listed. */
export type BlackBoxEntry = z.output<typeof fileSchema>;

/** The endpoints of a black box; without one only the list, which is empty, and marks, which are refused. */
export function blackBoxRoutes(box: BlackBoxApi | undefined): RouteTable {
  return [
    routeWithBody({
      method: "POST",
      path: "/mark",
      summary: "Keeps the frames from a minute before now to a minute after it in the black box",
      scope: "send",
      parts: noQuery,
      body: markBody,
      replies: {
        200: ["application/json", markedSchema],
        202: ["application/json", markedSchema],
        403: PROBLEM,
        503: PROBLEM,
      },
      answer: ({ text = "" }) => {
        if (!box) throw new ApiError(503, "The black box is off: see -blackbox-max-size and -journal-dir");
        const noted = box.mark(text);
        if (!noted) throw overloaded("Too many events wait for their last frames");
        return json({ name: noted.name, is_new: noted.isNew }, noted.isNew ? 202 : 200);
      },
    }),
    route({
      path: "/blackbox",
      summary: "Files of the black box, newest first: frames around alerts, man-overboard messages and marks",
      query: noQuery,
      replies: { 200: ["application/json", z.array(fileSchema)] },
      answer: () => jsonList((box?.list() ?? []).map(entryOf)),
    }),
    routeWithParts({
      path: "/blackbox/{name}",
      summary: "A file of the black box: a journal file (.lpj)",
      query: noQuery,
      parts: z.object({ name: described(z.string(), "Name of the file") }),
      replies: { 200: ["application/octet-stream", binary], 404: PROBLEM },
      answer: async (_request, _query, { name }) => {
        const path = box?.pathOf(name);
        if (path === undefined) throw missing(name);
        try {
          const file = await Deno.open(path);
          return new Response(file.readable, { headers: { "Content-Type": "application/octet-stream" } });
        } catch (error) {
          throw error instanceof Deno.errors.NotFound ? missing(name) : error;
        }
      },
    }),
  ];
}

function missing(name: string): ApiError {
  return new ApiError(404, `The black box has no complete file "${name}": see /blackbox`);
}

function entryOf(
  { event: { name, kind, subject, text, time, frames }, bytes, isComplete }: BlackBoxFile,
): BlackBoxEntry {
  return {
    ...{ name, kind, subject, text, time, complete: isComplete, bytes },
    ...(frames && {
      from: frames.from,
      to: frames.to,
      frames: frames.count,
      missing: frames.missing,
      interrupted: frames.is_interrupted,
    }),
  };
}
