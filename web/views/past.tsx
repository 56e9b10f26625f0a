import { utcText } from "./time_text.ts";

/** Why a time cannot be shown, as the server says it. */
export function NotShown({ detail }: { detail: string }) {
  return <p class="card bad" role="alert">{detail.replace(/^Query parameter "at": /, "")}.</p>;
}

/** From when on messages are known that the view contains. */
export function Since({ since }: { since: string | undefined }) {
  return since === undefined ? null : <p class="quiet">Shows what was sent since {utcText(since)}.</p>;
}
