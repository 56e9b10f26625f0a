import type { DecodedFields, PgnDetails } from "@vessel/gateway/client";
import {
  type DescribedField,
  type DescribedFields,
  type FieldText,
  fieldTexts,
  type UnitSystem,
} from "@vessel/gateway/units";

/** Control characters, and those that change the direction of the text around them. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}]/gu;

/** A text from the bus without characters that cannot be seen. */
export function plainText(text: string): string {
  return text.replace(UNSEEN, "\ufffd");
}

/** A duration with three digits: `40 ms`, `1.25 s`, `12 min`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const days = minutes / 1440;
  if (days < 2) return `${Math.round(minutes / 60)} h`;
  return days < 730 ? `${Math.round(days)} d` : `${Math.round(days / 365.25)} years`;
}

/** How long ago: `0.4 s`, `12 s`, `3 min`. Clocks that differ a little make no negative age. */
export function ageText(ms: number): string {
  const age = Math.max(0, ms);
  return age < 10_000 ? `${(age / 1000).toFixed(1)} s` : durationText(age);
}

/** Events each second: `0.20/s`, `12.5/s`, `300/s`. */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return "0/s";
  return `${perSecond < 1 ? perSecond.toFixed(2) : perSecond < 100 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`;
}

/** The fields of a decoded payload for people; control characters are replaced. */
export function decodedTexts(
  decoded: DecodedFields,
  { details, system }: { details: PgnDetails | undefined; system: UnitSystem },
): FieldText[] {
  return fieldTexts(decoded, { fields: fieldsOf(decoded, details), system, clean: plainText })
    .map(({ name, text }) => ({ name, text: plainText(text) }));
}

/** Descriptions of the fields: of the first layout that has all of them. */
export function fieldsOf(decoded: DecodedFields, details: PgnDetails | undefined): DescribedFields {
  const names = Object.keys(decoded);
  const layouts = details?.layouts.map(({ fields }) =>
    new Map<string, DescribedField>(fields.map((each) => [each.name, each]))
  );
  return layouts?.find((fields) => names.every((name) => fields.has(name))) ?? layouts?.[0] ?? new Map();
}
