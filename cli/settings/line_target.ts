import type { LineTarget } from "@vessel/gateway/boat";
import { parseAddress } from "@vessel/gateway/base";

/**
 * Reads where lines go: `tcp://:10110` or `udp://HOST:PORT`.
 *
 * @throws {RangeError} the text has another form
 */
export function lineTargetOf(text: string): LineTarget {
  const [, protocol, address = ""] = /^(tcp|udp):\/\/(.*)$/.exec(text) ?? [];
  if (protocol !== "tcp" && protocol !== "udp") {
    throw new RangeError(`Cannot read the address "${text}": expected tcp://:PORT or udp://HOST:PORT`);
  }
  const target = { protocol, ...parseAddress(address) } as const;
  if (protocol === "tcp" || (!address.startsWith(":") && target.port > 0)) return target;
  throw new RangeError(`Cannot send datagrams to "${text}": expected udp://HOST:PORT`);
}
