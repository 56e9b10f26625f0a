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
    if (!/^(There is nothing at|404 page not found)/.test(detail) && !isPage(detail)) return undefined;
    return message.startsWith("POST ")
      ? "a cloud sends nothing: ask the boat's own server"
      : "is this the address of a boat, or of a boat in a cloud (https://cloud.example.com/instances/ID)?";
  },
  429: ({ retryAfterMs }) =>
    retryAfterMs === undefined ? "try again later" : `try again in ${Math.ceil(retryAfterMs / 1000)} s`,
  503: ({ retryAfterMs, problem: { detail } }) => {
    if (/see -|is not enabled/.test(detail)) return undefined;
    return retryAfterMs === undefined ? "try again later" : `try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  },
};

/** What to do about a server that cannot be reached, by what the runtime says of it. */
const REACHING: readonly (readonly [reason: RegExp, advice: string])[] = [
  [/certificate: UnknownIssuer/, "NODE_EXTRA_CA_CERTS names the PEM file of the authority that it comes from"],
  [/CaUsedAsEndEntity/, "it is an authority's: a server's says CA:FALSE"],
  [/invalid HTTP version/, "try https://"],
  [/InvalidContentType/, "try http://"],
];

/** The error with the reason and with advice, where they are known. One line. */
export function advised(error: Error): Error;
export function advised(error: unknown): unknown;
export function advised(error: unknown): unknown {
  if (error instanceof ConnectionError) return withReason(error);
  if (!(error instanceof ApiError)) return error;
  const advice = ADVICE[error.status]?.(error);
  const message = shortMessage(error);
  const text = advice === undefined ? message : `${message}; ${advice}`;
  return text === error.message ? error : new Error(text, { cause: error });
}

function withReason(error: ConnectionError): Error {
  const reason = reachingReason(error);
  if (reason === undefined) return error;
  const [, advice] = REACHING.find(([known]) => known.test(reason)) ?? [];
  return new Error([`${error.message}: ${reason}`, ...advice ? [advice] : []].join("; "), { cause: error });
}

/** What the runtime says of a request that failed, without its own words around it: `Connection refused`. */
function reachingReason({ cause }: Error): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return reachingReason(cause) ??
    /(?:: client error \(\w+\)|^Fetch failed): (?:tcp connect error: )?(.+?)(?: \(os error \d+\))?$/.exec(cause.message)
      ?.[1];
}

/** The message; of a page that some other server has sent, the status and its name alone. */
function shortMessage({ message, problem: { title, detail } }: ApiError): string {
  return isPage(detail) ? `${message.slice(0, -detail.length)}${title}`.trimEnd() : message;
}

/** Whether this is some other server's page, and no word of ours. */
function isPage(detail: string): boolean {
  return detail.includes("\n") || detail.startsWith("<");
}

/** Whether the same question may be answered later. */
export function mayPass(error: unknown): error is Error {
  return error instanceof ConnectionError ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500));
}
