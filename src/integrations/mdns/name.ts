/** Maximum length of a label of a DNS name (RFC 1035, section 2.3.4). */
export const MAX_LABEL_BYTES = 63;
/** Distinguishes our host name from the machine's own, which another responder may announce. */
const HOST_PREFIX = "vbg-";

/**
 * Checks an instance name: it must have 1 to 63 bytes in UTF-8, no control characters and no dots.
 *
 * @returns an error message; undefined when the name is valid
 */
export function checkInstanceName(name: string): string | undefined {
  const problem = name.trim() === ""
    ? "must not be empty"
    : bytesOf(name) > MAX_LABEL_BYTES
    ? `at most ${MAX_LABEL_BYTES} bytes`
    : /[\p{Cc}.]/u.test(name)
    ? "no dots and no control characters"
    : undefined;
  return problem && `Cannot use the name "${name}": ${problem}`;
}

/** The default instance name on a host: the first label of the host name. */
export function instanceNameOf(hostname: string): string {
  return cut(hostname.split(".", 1)[0]?.trim() || "boat", MAX_LABEL_BYTES);
}

/** The first of "name", "name (2)", "name (3)" … that is not in use, case-insensitive (RFC 6763, appendix D). */
export function freeName(name: string, taken: readonly string[]): string {
  const used = new Set(taken.map((each) => each.toLowerCase()));
  for (let number = 1;; number++) {
    const suffix = number === 1 ? "" : ` (${number})`;
    const candidate = cut(name, MAX_LABEL_BYTES - suffix.length) + suffix;
    if (!used.has(candidate.toLowerCase())) return candidate;
  }
}

/** Host name for an instance name: letters, digits and hyphens, and ".local". */
export function hostOf(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-");
  const label = cut(HOST_PREFIX + plain, MAX_LABEL_BYTES).replace(/-+$/, "");
  return `${label}.local`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The longest prefix of at most `maxBytes` bytes. */
function cut(text: string, maxBytes: number): string {
  const buffer = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, buffer);
  return text.slice(0, read);
}
