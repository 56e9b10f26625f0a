/** Most bytes of a part of a DNS name (RFC 1035, section 2.3.4). */
export const MAX_LABEL_BYTES = 63;
/** So that the names of a network's boats stay apart from the machine's own name, which another responder may hold. */
const HOST_PREFIX = "vbg-";

/**
 * What is wrong with an instance name: it must have 1 to 63 bytes in UTF-8, no control characters and no dots.
 *
 * @returns the reason, or nothing
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

/** The instance name that a host name gives: its first part. */
export function instanceNameOf(hostname: string): string {
  return cut(hostname.split(".", 1)[0]?.trim() || "boat", MAX_LABEL_BYTES);
}

/** The first of "name", "name (2)", "name (3)" … that is not taken, in any case (RFC 6763, appendix D). */
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

/** The longest beginning that has no more than so many bytes. */
function cut(text: string, maxBytes: number): string {
  const buffer = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, buffer);
  return text.slice(0, read);
}
