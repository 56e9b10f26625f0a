import { createHash, timingSafeEqual } from "node:crypto";
import { type ListenAddress, type Logger, silentLogger } from "../base/mod.ts";
import { maySend, mayUseSession } from "./origin.ts";
import { ApiError } from "./reply.ts";

/** What a token may be good for. */
export const SCOPES = ["read", "send", "admin"] as const;

/** What a token is good for: none of them brings another one along. */
export type Scope = typeof SCOPES[number];

/** Somebody who may ask, known by a secret of which we keep the digest alone. */
export interface AccessToken {
  /** Who has it, for log lines. */
  name: string;
  /** SHA-256 of the token in UTF-8, 64 hex digits. */
  sha256: string;
  /** What it is good for. */
  scopes: readonly Scope[];
  /** Instances of a cloud that it is good for; left out: all. A boat takes no notice. */
  instances?: readonly string[];
}

/** Who may ask for what. */
export interface AccessRules {
  /** Without any, everybody may ask for everything. */
  tokens?: readonly AccessToken[];
  /** Other origins whose pages may send and use sessions, `scheme://host[:port]` in lower case; `*`: all. */
  allowOrigins?: readonly string[];
}

/** Who asks. */
export interface Caller {
  /** Name of the token; undefined where none are needed. */
  name: string | undefined;
  /** Address of the client; empty when the request did not come over a network. */
  address: string;
  /** What the caller may ask for by the rules of now; none when its token is no longer known. */
  readonly scopes: readonly Scope[];
  /** Instances of a cloud that the caller may know of, by the rules of now; undefined: all. */
  readonly instances: readonly string[] | undefined;
  /** False: a page of another origin asks, which may read but not send; by the rules of now. */
  readonly originAllowed: boolean;
}

/** Why a request was refused: no token, an unknown one, one without the scope, a page that may not send. */
export type AccessFailure = "missing" | "unknown" | "scope" | "origin";

/** What a page of another origin is told that sends. */
export const FOREIGN_ORIGIN = "send from another origin is not allowed";

/** What who may not use a session is told. */
const FOREIGN_SESSION =
  "sessions are closed to pages of other origins, and to GET by a public name over plain HTTP: send the token in a " +
  "header, or see -allow-origins";

/** Parameter that carries the token where a browser lets nobody set headers: EventSource, WebSocket. */
export const TOKEN_PARAMETER = "access_token";
/** Health is asked for by who has no token: balancers, watchdogs. */
export const OPEN_PATHS: readonly string[] = ["/livez", "/readyz", "/healthz"];

/** What access goes by besides the rules. */
interface AccessOptions {
  log?: Logger;
  isOverTls?: boolean;
}

/** What a request needs, and where it comes from. */
interface Need {
  /** What it takes. */
  scope: Scope;
  /** It is about a session: see {@linkcode mayUseSession}. A known token in a header opens it to every page. */
  ofSession?: boolean;
  /** The client; undefined when the request did not come over a network. */
  from: ListenAddress | undefined;
}

/** Knows every token, and tells who may ask for what. */
export class Access {
  #tokens: readonly KnownToken[] = [];
  #allowOrigins: readonly string[] = [];
  readonly #failures = { missing: 0, unknown: 0, scope: 0, origin: 0 };
  readonly #log: Logger;
  readonly #isOverTls: boolean;

  /**
   * @param options.log gets a line of the audit log for each refusal of what sends; default silent
   * @param options.isOverTls requests come over TLS alone; default false
   */
  constructor(rules: AccessRules = {}, { log = silentLogger, isOverTls = false }: AccessOptions = {}) {
    this.#log = log;
    this.#isOverTls = isOverTls;
    this.reload(rules);
  }

  /** Requests refused so far. */
  get failures(): Readonly<Record<AccessFailure, number>> {
    return this.#failures;
  }

  /** Takes other rules from the next request on; what is left out stays as it is. */
  reload({ tokens, allowOrigins }: AccessRules): void {
    if (tokens) this.#tokens = tokens.map(({ sha256, ...rest }) => ({ ...rest, digest: Uint8Array.fromHex(sha256) }));
    if (allowOrigins) this.#allowOrigins = allowOrigins;
  }

  /**
   * Lets a request in before anything else of it is looked at.
   *
   * @throws {ApiError} 401 without a token that is known, 403 when that is not enough, or when a foreign page sends or
   * uses a session
   */
  admit(request: Request, { scope, ofSession = false, from }: Need): Caller {
    const url = new URL(request.url);
    const address = from?.hostname ?? "";
    const token = OPEN_PATHS.includes(url.pathname) ? NOBODY : this.#identify(request.headers, url);
    if (typeof token === "string") throw this.#refuse(token, { scope, address, via: url.pathname });
    const { name, scopes, isInHeader } = token;
    // A copy: a request whose WebSocket is open cannot be read any more.
    const headers = new Headers(request.headers);
    const originAllowed = maySend(headers, this.#allowOrigins);
    const about = { scope, address, via: url.pathname, name };
    if (!scopes.includes(scope)) throw this.#refuse("scope", about);
    if (scope === "send" && !originAllowed) throw this.#refuse("origin", about);
    const originRules = { allowOrigins: this.#allowOrigins, isOverTls: this.#isOverTls };
    if (ofSession && !isInHeader && !mayUseSession(request, originRules)) throw this.#refuse("origin", about);
    const knownNow = () => {
      const known = this.#identify(headers, url);
      return typeof known === "string" ? STRANGER : known;
    };
    const originAllowedNow = () => maySend(headers, this.#allowOrigins);
    return {
      name,
      address,
      get scopes() {
        return knownNow().scopes;
      },
      get instances() {
        return knownNow().instances;
      },
      get originAllowed() {
        return originAllowedNow();
      },
    };
  }

  /** Who has the token that a request carries, or why nobody is known. */
  #identify(headers: Headers, url: URL): Known | "missing" | "unknown" {
    if (this.#tokens.length === 0) return NOBODY;
    const given = givenTokens(headers, url);
    if (given.length === 0) return "missing";
    for (const { secret, isInHeader } of given) {
      const token = this.#find(secret);
      if (token) return { ...token, isInHeader };
    }
    return "unknown";
  }

  /** Takes as long whichever token it is, and if it is none. */
  #find(given: string): KnownToken | undefined {
    const digest = createHash("sha256").update(given).digest();
    return this.#tokens.filter((each) => timingSafeEqual(each.digest, digest))[0];
  }

  /** Counts it; what wanted to send has its line in the audit log, as all that is sent has. */
  #refuse(reason: AccessFailure, { scope, address, via, name }: Asked): ApiError {
    this.#failures[reason]++;
    const error = refusal(reason, { scope, name });
    if (scope === "send") {
      const token = name !== undefined && { token: name };
      this.#log.info("audit", {
        component: "audit",
        outcome: reason,
        via,
        client: address,
        ...token,
        why: error.message,
      });
    }
    return error;
  }
}

/** What was asked for, and by whom. */
interface Asked {
  scope: Scope;
  address: string;
  /** Path. */
  via: string;
  name?: string | undefined;
}

function refusal(reason: AccessFailure, { scope, name }: Pick<Asked, "scope" | "name">): ApiError {
  const headers = { "WWW-Authenticate": "Bearer" };
  switch (reason) {
    case "missing": {
      const ways = `"Authorization: Bearer TOKEN", "X-API-Key: TOKEN" or ?${TOKEN_PARAMETER}=TOKEN`;
      return new ApiError(401, `This takes a token: ${ways}`, { headers });
    }
    case "unknown":
      return new ApiError(401, "The token is not known here", { headers });
    case "scope":
      return new ApiError(403, `The token of "${name}" is not good for "${scope}"`);
    case "origin":
      return new ApiError(403, scope === "send" ? `${FOREIGN_ORIGIN}: see -allow-origins` : FOREIGN_SESSION);
  }
}

type KnownToken = Omit<AccessToken, "sha256"> & { digest: Uint8Array };

/** What is known of who asks. */
interface Known extends Pick<Caller, "name" | "scopes"> {
  instances?: readonly string[];
  /** Its token is known, and came in a header: no page can know it that was not told. */
  isInHeader: boolean;
}

/** Where nobody needs a token. */
const NOBODY: Known = { name: undefined, scopes: SCOPES, isInHeader: false };
/** Whose token is no longer known. */
const STRANGER: Known = { name: undefined, scopes: [], instances: [], isInHeader: false };

/** The tokens of a request, at most one of each place, headers first. */
function givenTokens(headers: Headers, { searchParams }: URL): { secret: string; isInHeader: boolean }[] {
  const [, bearer] = /^bearer +(\S+)$/i.exec(headers.get("Authorization") ?? "") ?? [];
  const inHeaders = [bearer, headers.get("X-API-Key")].map((secret) => ({ secret, isInHeader: true }));
  const places = [...inHeaders, { secret: searchParams.get(TOKEN_PARAMETER), isInHeader: false }];
  return places.flatMap(({ secret, isInHeader }) => secret ? [{ secret, isInHeader }] : []);
}

/** The address of a request without the token that it may carry. */
export function urlWithoutToken(request: Request): URL {
  const url = new URL(request.url);
  if (url.searchParams.has(TOKEN_PARAMETER)) url.searchParams.delete(TOKEN_PARAMETER);
  return url;
}
