import { ApiError, ConnectionError } from "@vessel/gateway/client";

/** What to do about a refusal, by status, where the server's own words do not say it. */
const ADVICE: Readonly<Record<number, (error: ApiError) => string | undefined>> = {
  401: () => "-token or VBG_TOKEN gives one",
  403: ({ problem: { detail } }) => {
    if (detail.startsWith("send is disabled")) {
      return "a boat server sends with -send-enabled; clouds and simulations never do";
    }
    if (detail.includes("read-only")) return "the boat server was started with -read-only";
    if (detail.startsWith("The token")) return "-token or VBG_TOKEN gives another one";
    return undefined;
  },
  404: ({ message, problem: { detail } }) => {
    if (!detail.startsWith("There is nothing at")) return undefined;
    return message.startsWith("POST ")
      ? "a cloud sends nothing: ask the boat's own server"
      : "is this the address of a boat, or of a boat in a cloud (https://cloud.example.com/instances/ID)?";
  },
  429: ({ retryAfterMs }) =>
    retryAfterMs === undefined ? "try again later" : `try again in ${Math.ceil(retryAfterMs / 1000)} s`,
  503: ({ retryAfterMs, problem: { detail } }) => {
    if (detail.includes("see -")) return undefined;
    return retryAfterMs === undefined ? "try again later" : `try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  },
};

/** The error with what to do about it, where that is known. */
export function advised(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const advice = ADVICE[error.status]?.(error);
  return advice === undefined ? error : new Error(`${error.message}; ${advice}`, { cause: error });
}

/** Whether the same question may be answered later. */
export function mayPass(error: unknown): error is Error {
  return error instanceof ConnectionError ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500));
}
