import { errorText } from "@vessel/gateway/base";
import type { Finding } from "./machine.ts";

/** Bits a second of every NMEA 2000 bus. */
const BITRATE = 250_000;
const CAN_TYPES = ["can", "vcan", "vxcan"];

/** The fields of an interface in `ip -details -json link show` that are checked. */
interface Link {
  ifname: string;
  flags: readonly string[];
  kind: string;
  state: string | undefined;
  bitrate: number | undefined;
}

/** Checks the CAN interfaces of this machine, or the named ones. */
export async function checkInterfaces(names: readonly string[]): Promise<Finding[]> {
  let text: string;
  try {
    text = await listLinks();
  } catch (error) {
    return [{ name: "CAN interfaces", state: "skip", text: `"ip link" failed: ${errorText(error)}` }];
  }
  return evaluateInterfaces(text, names);
}

/** Evaluates the output of `ip -details -json link show`. */
export function evaluateInterfaces(json: string, names: readonly string[]): Finding[] {
  const links = readLinks(json);
  const named = names.map((name) => links.find(({ ifname }) => ifname === name) ?? name);
  const found = names.length > 0 ? named : links.filter(({ kind }) => CAN_TYPES.includes(kind));
  if (found.length > 0) return found.map((link) => typeof link === "string" ? missing(link, links) : evaluate(link));
  return [{ name: "CAN interfaces", state: "skip", text: "none found; -interfaces names the expected ones" }];
}

function evaluate({ ifname, flags, kind, state, bitrate }: Link): Finding {
  const name = `interface ${ifname}`;
  const fail = (text: string): Finding => ({ name, state: "fail", text });
  if (!CAN_TYPES.includes(kind)) return fail("it is not a CAN interface");
  if (!flags.includes("UP")) return fail(`it is down: "ip link set ${ifname} up type can bitrate ${BITRATE}"`);
  if (kind !== "can") return { name, state: "ok", text: "up; it is virtual" };
  if (state === "BUS-OFF") return fail("bus off: it no longer sends or receives; check wiring and terminators");
  if (bitrate !== undefined && bitrate !== BITRATE) return fail(`${bitrate} bit/s: NMEA 2000 has ${BITRATE}`);
  const text = `up, ${bitrate ?? "?"} bit/s, ${state ?? "state unknown"}`;
  if (state === "ERROR-PASSIVE" || state === "ERROR-WARNING") {
    return { name, state: "warn", text: `${text}: many errors; check wiring and terminators` };
  }
  return { name, state: "ok", text };
}

function missing(name: string, links: readonly Link[]): Finding {
  const known = links.filter(({ kind }) => CAN_TYPES.includes(kind)).map(({ ifname }) => ifname).join(", ");
  return {
    name: `interface ${name}`,
    state: "fail",
    text: `not found; available: ${known || "no CAN interfaces"}`,
  };
}

async function listLinks(): Promise<string> {
  const command = new Deno.Command("ip", { args: ["-details", "-json", "link", "show"], stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return new TextDecoder().decode(stdout);
}

function readLinks(json: string): Link[] {
  const list: unknown = JSON.parse(json || "[]");
  return Array.isArray(list) ? list.map(readLink) : [];
}

function readLink(value: unknown): Link {
  const link = sectionOf(value);
  const info = sectionOf(link.linkinfo);
  const data = sectionOf(info.info_data);
  const bitrate = sectionOf(data.bittiming).bitrate;
  return {
    ifname: String(link.ifname),
    flags: Array.isArray(link.flags) ? link.flags.map(String) : [],
    kind: typeof info.info_kind === "string" ? info.info_kind : String(link.link_type),
    state: typeof data.state === "string" ? data.state : undefined,
    bitrate: typeof bitrate === "number" ? bitrate : undefined,
  };
}

function sectionOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
