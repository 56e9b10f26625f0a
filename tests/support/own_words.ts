/**
 * Environment of a program of which every word on standard error counts: neither does the runtime tell that another process
 * was at its caches, nor a shell that it does not know the machine's language.
 */
export const OWN_WORDS: Readonly<Record<string, string>> = { DENO_LOG: "off", LC_ALL: "C.UTF-8" };
