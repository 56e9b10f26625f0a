import { ApiError, ConnectionError } from "@vessel/gateway/client";

/** Advice for an error status, unless the server's own text is enough. */
const ADVICE: Readonly<Record<number, (error: ApiError) => string | undefined>> = {
  401: () => "use -token or VBG_TOKEN",
  403: ({ problem: { detail } }) => {
    if (detail.startsWith("send is disabled")) {
      return "a boat server sends with -send-enabled; clouds and simulations never do";
    }
    if (detail.includes("read-only")) return "the boat server was started with -read-only";
    if (detail.startsWith("The token")) return "use another with -token or VBG_TOKEN";
    return undefined;
  },
  404: ({ message, problem: { detail } }) => {
    if (!/^(There is nothing at|404 page not found)/.test(detail) && !isPage(detail)) return undefined;
    return message.startsWith("POST ")
      ? "a cloud cannot send: use the boat's own server"
      : "is this the address of a boat, or of a boat in a cloud (https://cloud.example.com/instances/ID)?";
  },
  429: ({ retryAfterMs }) =>
    retryAfterMs === undefined ? "try again later" : `try again in ${Math.ceil(retryAfterMs / 1000)} s`,
  503: ({ retryAfterMs, problem: { detail } }) => {
    if (/see -|is not enabled/.test(detail)) return undefined;
    return retryAfterMs === undefined ? "try again later" : `try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  },
};

/** Advice for a failed connection, by the runtime's error text. */
const REACHING: readonly (readonly [reason: RegExp, advice: string])[] = [
  [/certificate: UnknownIssuer/, "set NODE_EXTRA_CA_CERTS to the PEM file of the authority that issued it"],
  [/CaUsedAsEndEntity/, "it is the certificate of an authority: a server's has CA:FALSE"],
  [/invalid HTTP version/, "try https://"],
  [/InvalidContentType/, "try http://"],
];

/** The error with its reason and with advice, if known. One line. */
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

/** The runtime's reason of a failed request, without the text around it: `Connection refused`. */
function reachingReason({ cause }: Error): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return reachingReason(cause) ??
    /(?:: client error \(\w+\)|^Fetch failed): (?:tcp connect error: )?(.+?)(?: \(os error \d+\))?$/.exec(cause.message)
      ?.[1];
}

/** The message; for an HTML page of a foreign server only the status and its name. */
function shortMessage({ message, problem: { title, detail } }: ApiError): string {
  return isPage(detail) ? `${message.slice(0, -detail.length)}${title}`.trimEnd() : message;
}

/** Whether the text is the page of a foreign server. */
function isPage(detail: string): boolean {
  return detail.includes("\n") || detail.startsWith("<");
}

/** Whether the same request may succeed later. */
export function mayPass(error: unknown): error is Error {
  return error instanceof ConnectionError ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500));
}
