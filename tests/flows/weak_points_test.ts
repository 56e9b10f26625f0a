// What other gateways do wrong, each point with the tests that show that this one does not. The numbers are those of the
// list that the points were collected in; what this gateway does not have yet is not in it.
import assert from "node:assert/strict";
import { needs } from "../support/needs.ts";

const READ = needs({ permissions: ["read"] });

/** Tests of one file, by their names. */
interface Shown {
  file: string;
  tests: string[];
}

const shown = (file: string, ...tests: string[]): Shown => ({ file, tests });

const SEND_WAYS = "flows/send_ways_test.ts";
const CLOSED = "flows/weak_points_closed_test.ts";

const WEAK_POINTS: Record<number, [point: string, ...Shown[]]> = {
  1: [
    "sending by WebSocket knows no read-only mode, no rate, no policy, no audit",
    shown(
      SEND_WAYS,
      "settings that are read again hold for the next message, on open sockets too",
      "messages and queries, by whatever way, use up one rate",
      "every message, query and refusal is a line of the audit log with the client's address",
    ),
  ],
  2: [
    "a reload loses rules and opens the server, and cannot take a limit away",
    shown("cli/send_program_test.ts", "SIGHUP keeps rules that are objects, and never opens a server by a mistake"),
    shown(SEND_WAYS, "settings that are read again hold for the next message, on open sockets too"),
    shown("http/auth_test.ts", "other tokens count from the next request on, and an open stream goes on"),
  ],
  3: [
    "rules on a NAME are passed by without a bus, by broadcasts, to unknown devices, and with a made-up destination",
    shown(CLOSED, "no message passes by a rule on a NAME"),
  ],
  4: [
    "any web page can send",
    shown("http/origin_test.ts", "a page of another origin can read and cannot send, whatever way it takes"),
    shown("flows/browser_test.ts", "in a real browser, pages of other origins can read and cannot send"),
  ],
  5: [
    "the API key: metrics are open, no HTTPS, secrets in the list of processes",
    shown("http/auth_test.ts", "with tokens, everything but health takes one that is good for it"),
    shown("http/tls_test.ts", "who asks over TLS is known by address, token and origin as without"),
    shown("cli/auth_test.ts", "a file of tokens is checked before anything starts, and never quoted"),
  ],
  6: [
    "what is for an unknown bus goes to the first",
    shown(SEND_WAYS, "a message goes out on the bus that is named, the first when none is, and on no other"),
  ],
  7: [
    "no limits on bodies, sessions, streams, history, queries, and slow clients",
    shown("http/session_test.ts", "a body over the limit is a 413, told by its length or found on the way"),
    shown(
      "http/session_test.ts",
      "sessions and their streams are few: more are a 503 that says when to try again",
    ),
    shown(
      "http/stream_life_test.ts",
      "one stream more than -max-streams is refused with a time to come back, and a place that is freed is given again",
    ),
    shown("http/history_test.ts", "without a limit ten thousand frames are given, with one as many as a million"),
    shown("flows/send_test.ts", "a timeout over the maximum", "a server that answers as many queries as it may"),
    shown(CLOSED, "many clients that send head or body of a request slowly keep nobody else out"),
  ],
  8: [
    "numbers begin at 1 with each start",
    shown(
      "flows/recording_test.ts",
      "everything that is heard is recorded, with the devices, and numbers go on after a restart",
    ),
    shown(
      "flows/session_flow_test.ts",
      "with a journal, a session survives a restart and gets exactly what it has missed",
    ),
  ],
  9: [
    "sessions expire while they stream, slots expire, what has fallen behind is not told",
    shown(
      "stream/sessions_test.ts",
      "a session goes when its client is away for its timeout, and not while it is connected",
    ),
    shown(
      "flows/session_flow_test.ts",
      "a slot is there from the start, over restarts too, and its stream is never 404",
      "active, GET of the events: streaming, from the cursor on and then live",
      "streaming, behind ring and journal: the client gets a fallen-behind error, before and in a stream",
    ),
  ],
  10: [
    "device events come where frames are expected",
    shown("http/websocket_test.ts", "a device event has an envelope of its own and never that of a frame"),
    shown("http/events_test.ts", "device events come only when asked for, have a name, and ignore the filter"),
    shown(SEND_WAYS, "a query takes the PGN from who was asked, on the bus that was asked, and nothing else"),
  ],
  11: [
    "decoding drops the bus, and what cannot be decoded is now null and now left out",
    shown(CLOSED, "decode=true keeps the bus, and leaves the key out where nothing is decoded, on every way"),
    shown(
      "http/decode_test.ts",
      "/values/decoded is /values with description and decoded fields, each left out when it is not known",
    ),
  ],
  12: [
    "fast packets: framing unknown, messages mixed, short and long ones sent wrongly, no ISO transport",
    shown(SEND_WAYS, "one frame, a fast packet or a transport session is chosen by PGN and length"),
    shown(
      "can/assembler_test.ts",
      "interleaved sources, PGNs and sequence counters are kept apart",
      "messages of one source to two destinations with the same counter are kept apart",
    ),
    shown("node/transmitter_test.ts", "a PGN that is a fast packet travels as one, from 1 to 223 bytes"),
    shown("can/iso_transport_test.ts", "a broadcast session becomes one message, up to 1785 bytes"),
  ],
  13: [
    "discovery and the virtual device know the first bus alone; some are never asked, others for ever",
    shown(
      "flows/boat_test.ts",
      "at start everybody on every bus is asked for an address claim",
      "a source first heard asking others is asked too",
      "a device that does not answer is asked again, with growing pauses, and not for ever",
    ),
    shown(SEND_WAYS, "a claimed address replaces whatever source is asked for, on each bus its own"),
    shown(
      "node/virtual_device_test.ts",
      "virtual device: addresses in use on that bus are passed over, those of other buses are not",
      "virtual device: what could not be said while the bus was down is said later",
    ),
  ],
  14: [
    "a device that cannot claim an address becomes a phantom",
    shown("flows/boat_test.ts", "a device that cannot claim (address 254) gives up its old one"),
    shown("http/reads_test.ts", "an address claim from the null address makes no device"),
  ],
  15: [
    "values, filters of sessions and the journal are blind for buses",
    shown(
      "flows/boat_test.ts",
      "two buses may use the same source address: two devices, each with its own values, asked on its own bus",
    ),
    shown("filter/compile_test.ts", "the same source on another bus is another device"),
    shown(
      "http/history_test.ts",
      "a bus is named as it was when it was recorded, and left out where the server has but one",
    ),
  ],
  16: [
    "history: null for nothing, no bus, no bound, not the newest, and it reads on when the client has left",
    shown(
      "http/history_test.ts",
      "what nothing matches is an empty list, also with an empty journal",
      "filters mean in the history what they mean elsewhere, and sources can be chosen",
      "history gives the same texts as live, frames that are not written yet included",
      "a history nobody reads on is let go: its file is closed",
    ),
  ],
  17: [
    "health is never bad, a bus that never spoke is fine, times of year 1, head_seq is off by one",
    shown(
      "http/health_test.ts",
      "unhealthy is unhealthy for a single bus",
      "a bus that has been silent too long degrades health, since start included, until it speaks again",
      "health of a server that has heard nothing is ok, and its unset time is null",
      "health counts what was heard, and head_seq is the number of the newest frame",
    ),
  ],
  18: [
    "gzip of nothing, without Vary, and for who does not want it",
    shown(
      "http/compression_test.ts",
      "every body that is no stream is gzip when asked for, tiny ones and errors too",
      "Accept-Encoding is read as RFC 9110 says",
    ),
    shown(CLOSED, "the empty answer to a message that is sent is not compressed, its refusal is"),
  ],
  19: [
    "configuration: quotes, lists and numbers are read wrongly, unknown keys are passed over",
    shown(
      "cli/hocon_test.ts",
      "numbers and texts mean the same, nested and dotted keys too",
      "texts keep their punctuation, quoted or not",
      "lists are lists, single values, or additions",
      "an unknown key names the nearest known one",
    ),
    shown("cli/boat_options_test.ts", "every row has words for help and follows the naming rules"),
  ],
  20: [
    "failures exit with 0, a stop takes long, and who sends meanwhile is a fault",
    shown("cli/program_test.ts", "a program that cannot start says why in one line with code 1"),
    shown("flows/program_test.ts", "SIGTERM ends the program with streams open: exit code 0, in time"),
    shown("http/stream_life_test.ts", "stop ends open streams, tells the sockets why, and may be called twice"),
    shown(CLOSED, "who sends or waits for an answer while the server stops is told so"),
  ],
  22: [
    "an acknowledgement of before a restart moves the cursor beyond the head",
    shown(
      "stream/sessions_test.ts",
      "an acknowledgement moves the cursor forward, never back, and never beyond the head",
    ),
  ],
  24: [
    "what is dropped is told to nobody",
    shown(
      "http/slow_client_test.ts",
      "a client that does not read is told what it lost and misses nothing silently, while others get every frame",
    ),
    shown("http/metrics_test.ts", "what is dropped on the way in is counted by reason"),
    shown(CLOSED, "messages that are refused or fail are counted by reason"),
  ],
  25: [
    "manufacturers: wrong names, in one case alone; a NAME with 0x is refused",
    shown(
      "pgn/manufacturers_test.ts",
      "manufacturers have the names of the canboat registry where the peer's table is wrong",
    ),
    shown(
      "filter/compile_test.ts",
      "a manufacturer is meant by name in any case, by code and by alias",
      "a NAME is meant with and without 0x, in any case, with and without leading zeros",
    ),
  ],
  26: [
    "every file is opened to find a number",
    shown("journal/journal_index_test.ts", "a range far from a file reads few of its blocks"),
  ],
  27: [
    "the API description is wrong",
    shown(
      "http/openapi_test.ts",
      "the API description lists every route, its parameters and its codes, and nothing else",
      "what the server answers is what its description says, with everything known and with nothing known",
    ),
  ],
};

for (const [number, [point, ...places]] of Object.entries(WEAK_POINTS)) {
  Deno.test(`weak point ${number} is shown closed by tests that exist: ${point}`, READ, async () => {
    for (const { file, tests } of places) {
      const text = await Deno.readTextFile(new URL(`../${file}`, import.meta.url));
      for (const name of tests) assert.ok(text.includes(`"${name}"`), `${file}: ${name}`);
    }
  });
}
