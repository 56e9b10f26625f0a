import { errorText } from "@vessel/gateway/base";
import { BlockError } from "@vessel/gateway/journal";

/** Why a file cannot be opened, and what to do with a recording of another program. */
export function unreadableText(error: unknown): string {
  const isOther = error instanceof BlockError && error.reason === "file-header";
  return errorText(error) + (isOther ? '; "vbg convert" makes one of a recording of another program' : "");
}
