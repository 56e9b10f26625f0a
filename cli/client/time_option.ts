import { parseDuration } from "@vessel/gateway/base";
import { durationText, flagGroup, optional, readTimestamp } from "../settings/option_types.ts";
import { type Check, type Option, refuse } from "../settings/options.ts";

/** An absolute time, or a time before now. */
export type When = { kind: "at"; text: string } | { kind: "ago"; ms: number };

const time = flagGroup("Time");

/** Option of commands that show the present, or what a server showed at a time. */
export const atOptions = {
  at: optional(when("at", {
    default: { kind: "ago", ms: 0 },
    help:
      "Show what the server showed at this time, from its journal: RFC 3339, such as 2024-06-01T12:00:00Z, or how long " +
      "ago: 90s, 2h, P1D. Without it: now.",
  })),
};

/** Rules for {@linkcode atOptions}. */
export const atChecks: readonly Check<{ at: When | undefined; watch: boolean }>[] = [
  refuse(["at"], ({ at, watch }) => at !== undefined && watch && "Cannot use both -at and -watch"),
];

/** The time as a parameter of a request. */
export function timeOf(when: When, nowMs: number): string {
  return when.kind === "at" ? when.text : new Date(nowMs - when.ms).toISOString();
}

/** An option for a time. */
export function when(name: string, { default: standard, help }: { default: When; help: string }): Option<When> {
  return time.structured<When>({
    name,
    placeholder: "TIME",
    default: standard,
    help,
    parseText: readWhen,
    format: (value) => value.kind === "at" ? value.text : durationText(value.ms),
  });
}

/** Reads an absolute time, or how long ago. @throws {RangeError} the text is neither */
export function readWhen(text: string): When {
  if (/^\d{4}-/.test(text)) {
    readTimestamp(text);
    return { kind: "at", text };
  }
  try {
    return { kind: "ago", ms: parseDuration(text) };
  } catch {
    const forms = "RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago, such as 2h";
    throw new RangeError(`Cannot read the time "${text}": expected ${forms}`);
  }
}
