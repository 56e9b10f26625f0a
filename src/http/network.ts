/**
 * The network that identifies a client without a token: its IPv4 address, or the /64 of its IPv6 address, because one
 * machine may use any address in its /64. Link-local addresses stand for themselves: all machines of a link share the /64.
 */
export function networkOf(address: string): string {
  const [bare = ""] = address.split("%");
  if (!bare.includes(":") || /^fe[89ab]/i.test(bare)) return bare;
  const [before = "", after] = bare.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...tail].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
