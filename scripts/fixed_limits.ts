import { MAX_VALUES as MAX_TOP_VALUES } from "../cli/commands/top/boat_values.ts";
import { FAST_PACKET_TIMEOUT_MS } from "../src/can/assembly/assembler.ts";
import { MAX_STREAMS as MAX_FRAMING_HABITS } from "../src/can/assembly/framing_habits.ts";
import { MAX_UNREAD, MAX_WAITING_BYTES as MAX_GATEWAY_BYTES } from "../src/can/gateways/connection.ts";
import { CONNECT_TIMEOUT_MS } from "../src/can/gateways/tcp_link.ts";
import { MAX_WAITING as MAX_DATAGRAMS } from "../src/can/gateways/udp_link.ts";
import { ADDRESSED_TIMEOUT_MS, BROADCAST_TIMEOUT_MS } from "../src/can/assembly/iso_transport.ts";
import { MAX_BST_BYTES } from "../src/can/recordings/bst_line.ts";
import { MAX_LIVE_HEAD_BYTES } from "../src/can/recordings/piece_reader.ts";
import { MAX_LINE } from "../src/can/recordings/text.ts";
import { MAX_DIAGNOSTIC_EVENTS } from "../src/cloud/mod.ts";
import { MAX_FILTER_ENTRIES, MAX_FILTER_TEXT_CHARACTERS } from "../src/filter/mod.ts";
import { MAX_LIST_ENTRIES } from "../src/http/params.ts";
import {
  DEFAULT_IDLE_MS as HISTORY_IDLE_MS,
  MAX_HELD_BYTES,
  MAX_WAITING_HISTORIES,
  MEASURE_MS,
  SLICE_MS as HISTORY_SLICE_MS,
} from "../src/http/history/turns.ts";
import { MAX_BATCH_MS } from "../src/http/params.ts";
import { MAX_WHERE_DEPTH, MAX_WHERE_LENGTH } from "../src/where/mod.ts";
import { TRANSPORT_BYTES } from "../src/stream/live/budget.ts";
import { DEGRADED_SYNC_INTERVALS, UNHEALTHY_MS } from "../src/http/status/journal_health.ts";
import { MAX_MESSAGES } from "../src/http/send/body.ts";
import { BATCH_CHARACTERS, BATCH_FRAMES } from "../src/stream/live/channel.ts";
import { SLICE_MS as STREAM_SLICE_MS, WAITING_FRAMES } from "../src/stream/live/hub.ts";
import { MAX_INBOUND_BYTES, MAX_UNREAD as MAX_UNREAD_ANSWERS, MIN_WINDOW } from "../src/http/streams/websocket.ts";
import { MAX_NAMED_FAULTS } from "../src/journal/index/index_faults.ts";
import { CLOSE_MS } from "../src/journal/evidence/signer.ts";
import { MAX_REMOVED } from "../src/journal/evidence/statement.ts";
import { DEFAULT_TIMEOUT_MS as ARCHIVE_TIMEOUT_MS } from "../src/journal/retention/archive_command.ts";
import { MAX_LINE_BYTES } from "../src/journal/retention/archive_protocol.ts";
import { MAX_KEPT_DISK_PERCENT } from "../src/journal/retention/plan.ts";
import { MAX_BLOCK_BYTES, MAX_BUSES, MAX_DICTIONARY_BYTES } from "../src/journal/mod.ts";
import { MAX_WINDOW_LOG } from "../src/journal/block/compression.ts";
import { MAX_ATTEMPTS, REQUESTS_PER_SECOND } from "../src/transmit/discovery.ts";
import { TRANSMIT_DEFAULTS } from "../src/transmit/mod.ts";
import { CLAIMS_PER_SECOND } from "../src/transmit/virtual_device/bus.ts";
import { MAX_RECENT } from "../src/integrations/alerts/alerts.ts";
import { DEFAULT_MAX_READINGS } from "../src/quantities/mod.ts";
import {
  ANSWERS_PER_SECOND,
  MAX_CLIENT_ASSEMBLIES,
  REFUSALS_MS,
  REQUESTS_PER_SECOND as CLIENT_REQUESTS_PER_SECOND,
} from "../src/integrations/gateway/client.ts";
import { MAX_SENT_FRAMES } from "../src/integrations/gateway/sent_frames.ts";
import { INPUT_BYTES_PER_SECOND, STALLED_MS } from "../src/integrations/line_server.ts";
import { MAX_SUBJECTS } from "../src/integrations/alerts/subjects.ts";
import { ACK_TIMEOUT_MS, WINDOW_MESSAGES } from "../src/integrations/mqtt/mqtt.ts";
import { MAX_ENTITIES } from "../src/integrations/mqtt/home_assistant.ts";
import { SYNC_PATIENCE_MS } from "../src/stream/session_types.ts";
import { bytes, count, type FixedLimit, ms } from "./fixed_limit.ts";
import { REPLICATION } from "./fixed_limits_replication.ts";
import { COMMANDS } from "./fixed_limits_commands.ts";
import { CONNECTIONS } from "./fixed_limits_connections.ts";
import { SERIES } from "./fixed_limits_series.ts";
import { SIGNALK } from "./fixed_limits_signalk.ts";
import { STORE } from "./fixed_limits_store.ts";

/** Limits of buses and gateways. */
const BUSES: readonly FixedLimit[] = [
  {
    what: "Time from one frame of a fast packet to the next",
    limit: ms(FAST_PACKET_TIMEOUT_MS),
    beyond: "The message is dropped and counted in vbg_assembler_dropped_total with the reason timeout.",
  },
  {
    what: "Time from one packet of an ISO transport session to the next",
    limit: `${ms(BROADCAST_TIMEOUT_MS)} (to all), ${ms(ADDRESSED_TIMEOUT_MS)} (to one)`,
    beyond: "The message is dropped and counted in vbg_assembler_dropped_total with the reason tp_timeout.",
  },
  {
    what: "Sources and PGNs whose framing is remembered, for PGNs that are sent both as single frames and fast packets",
    limit: count(MAX_FRAMING_HABITS),
    beyond: "The oldest is forgotten and learned again.",
  },
  {
    what: "Identity requests that discovery sends on one bus",
    limit: `${REQUESTS_PER_SECOND} a second`,
    beyond: "Further requests wait.",
  },
  {
    what: "Identity requests to one address that never answers",
    limit: count(MAX_ATTEMPTS),
    beyond: "No more requests until the address has disappeared or its bus comes up again.",
  },
  {
    what: "Address claims of the virtual device in an address conflict",
    limit: `${CLAIMS_PER_SECOND} a second`,
    beyond: "The claim is sent a second later.",
  },
  {
    what: "Time that a message waits to be sent",
    limit: ms(TRANSMIT_DEFAULTS.queueTimeoutMs),
    beyond: "It is dropped and counted in vbg_transmit_failed_total.",
  },
  {
    what: "ISO transport sessions that wait to be sent on one bus",
    limit: count(TRANSMIT_DEFAULTS.queueTransfers),
    beyond: "503; nothing of the request is queued.",
  },
  {
    what: "Datagrams of a UDP gateway that wait to be read",
    limit: count(MAX_DATAGRAMS),
    beyond: "Further datagrams are dropped and counted.",
  },
  {
    what: "Bytes that wait to be written to a gateway",
    limit: bytes(MAX_GATEWAY_BYTES),
    beyond: "Frames wait in the send queue.",
  },
  {
    what: "Time to connect to a TCP gateway",
    limit: ms(CONNECT_TIMEOUT_MS),
    beyond: "The bus is down; the gateway is tried again.",
  },
  {
    what: "First bytes of a gateway without a known format",
    limit: bytes(MAX_LIVE_HEAD_BYTES),
    beyond: "The connection is closed and tried again.",
  },
  {
    what: "Messages in a row at the start that cannot be read in the gateway's format",
    limit: count(MAX_UNREAD),
    beyond: "The connection is closed and tried again.",
  },
  {
    what: "Characters of a line of a text format",
    limit: count(MAX_LINE),
    beyond: "The line is skipped and counted as unreadable.",
  },
  {
    what: "Bytes of one message of a binary gateway format",
    limit: count(MAX_BST_BYTES),
    beyond: "The message is skipped and counted as unreadable.",
  },
];

/** Limits of clients of the HTTP API. */
const CLIENTS: readonly FixedLimit[] = [
  {
    what: "Entries of a list in a request body, values of a query parameter",
    limit: `${MAX_LIST_ENTRIES}; ${MAX_MESSAGES} messages of /send`,
    beyond: "400 with the name of the list; entries are not checked.",
  },
  {
    what: "Requests for /history that wait for their turn",
    limit: count(MAX_WAITING_HISTORIES),
    beyond: "503 with Retry-After.",
  },
  {
    what: "Values of quantities with age and source, for each device and PGN",
    limit: count(DEFAULT_MAX_READINGS),
    beyond: "Not in /sources, and counted in vbg_source_values_refused_total; /values has them.",
  },
  {
    what: "Time to count the frames of a /history before they are sent",
    limit: ms(MEASURE_MS),
    beyond: "They are sent without the headers Frame-Count and Link, so that a cut by the limit is not visible.",
  },
  {
    what: "Text of a /history that is held in memory while its frames are counted",
    limit: bytes(MAX_HELD_BYTES),
    beyond: "The rest is read a second time when it is sent.",
  },
  {
    what: "Blocks of a /journal/blocks, which are held in memory until they are sent",
    limit: bytes(MAX_HELD_BYTES),
    beyond: "The block that exceeds it is the last; the header Link names the next file.",
  },
  {
    what: "Time in which the client of /history reads nothing",
    limit: ms(HISTORY_IDLE_MS),
    beyond: "The reply ends incomplete, and its turn goes to the next request.",
  },
  {
    what: "Time that one /history is read without a pause",
    limit: ms(HISTORY_SLICE_MS),
    beyond: "Other requests, buses and the next history are served; then reading continues.",
  },
  {
    what: "Frames and characters in one write to a live stream",
    limit: `${BATCH_FRAMES} and ${bytes(BATCH_CHARACTERS)}`,
    beyond: "Further frames go into the next write. A write may exceed the characters by at most 16 frames.",
  },
  {
    what: "Time that live streams are written without a pause",
    limit: ms(STREAM_SLICE_MS),
    beyond: "Other requests and buses are served; then writing continues.",
  },
  {
    what: "Buffers of the HTTP server for a stream whose client does not read, counted in stream-memory",
    limit: bytes(TRANSPORT_BYTES),
    beyond: "Frames wait in the stream's queue; see stream-buffer-bytes and stream-memory.",
  },
  {
    what: "Messages that a WebSocket client has not read",
    limit: `${MIN_WINDOW} frames while it does not read; ${MAX_UNREAD_ANSWERS} answers`,
    beyond: "Frames wait in the stream's queue; a client that does not read answers is closed with 1008.",
  },
  { what: "Messages in one POST /send", limit: count(MAX_MESSAGES), beyond: "400; nothing is sent." },
  {
    what: "Bytes of one message from a WebSocket client",
    limit: bytes(MAX_INBOUND_BYTES),
    beyond: "The connection is closed with code 1009.",
  },
  {
    what: "Length of a filter expression of `vbg dump -where` and the Bus view, and its parentheses inside each other",
    limit: `${MAX_WHERE_LENGTH} characters, ${MAX_WHERE_DEPTH}`,
    beyond: "Refused with the position.",
  },
  {
    what: "Time between two writes that a client of /events asks for with batch_ms",
    limit: ms(MAX_BATCH_MS),
    beyond: "400 naming the parameter.",
  },
  {
    what: "Entries of a filter, all its lists together, duplicates not counted",
    limit: count(MAX_FILTER_ENTRIES),
    beyond: "400 naming the parameter or field.",
  },
  {
    what: "Characters of a manufacturer or bus in a filter",
    limit: count(MAX_FILTER_TEXT_CHARACTERS),
    beyond: "400 naming the parameter or field.",
  },
  {
    what: "Frames that wait for the streams of one filter until the event loop is free",
    limit: count(WAITING_FRAMES),
    beyond: "Frames are dropped for these streams; each client gets a dropped event with the range.",
  },
  {
    what: "Events in one answer of /replication/events",
    limit: count(MAX_DIAGNOSTIC_EVENTS),
    beyond: "A larger limit is cut to it.",
  },
];

/** Limits of `vbg`. */
const TOOLS: readonly FixedLimit[] = [
  {
    what: "`vbg top`: newest values kept, one for each device, PGN and instance",
    limit: count(MAX_TOP_VALUES),
    beyond: "Values of further devices and instances are not shown.",
  },
];

/** Limits of files, archive commands, MQTT brokers, clients of other protocols and receivers of alerts. */
const OUTSIDE: readonly FixedLimit[] = [
  { what: "Buses in one journal", limit: count(MAX_BUSES), beyond: "The server refuses to start." },
  {
    what: "Bytes of a block in a journal file",
    limit: bytes(MAX_BLOCK_BYTES),
    beyond: "The file is not read as a journal: a damaged header must not exhaust the memory.",
  },
  {
    what: "Bytes of a compression dictionary in a block",
    limit: bytes(MAX_DICTIONARY_BYTES),
    beyond: "The block counts as damaged.",
  },
  {
    what: "Window of a compressed block",
    limit: bytes(2 ** MAX_WINDOW_LOG),
    beyond: "The block counts as damaged.",
  },
  {
    what: "Time of one run of the archive command",
    limit: ms(ARCHIVE_TIMEOUT_MS),
    beyond: "The command is ended; its files are archived later.",
  },
  {
    what: "Deleted files that the statement of the next signed file names",
    limit: count(MAX_REMOVED),
    beyond: "The first of them count as missing in `vbg verify -evidence`.",
  },
  {
    what: "Time in which a stop of the server signs files",
    limit: ms(CLOSE_MS),
    beyond: "The next start signs the others.",
  },
  {
    what: "Bytes of a line that the archive command prints",
    limit: bytes(MAX_LINE_BYTES),
    beyond: "The line is ignored; the file counts as not archived.",
  },
  {
    what: "Time in which a client of the NMEA 0183 server or the gateway server takes nothing",
    limit: ms(STALLED_MS),
    beyond:
      "It is disconnected, and logged with the number of its drops; so is one that ended its side and is sent nothing.",
  },
  {
    what: "Unfinished multi-frame messages that one client of the gateway server writes",
    limit: count(MAX_CLIENT_ASSEMBLIES),
    beyond: "The oldest is discarded.",
  },
  {
    what: "Requests (PGN 59904) of one client of the gateway server",
    limit: `${CLIENT_REQUESTS_PER_SECOND} a second, answered with ${ANSWERS_PER_SECOND} messages`,
    beyond:
      'Not answered, and counted in vbg_gateway_written_total{result="unanswered"}; nor while half of its buffer waits.',
  },
  {
    what: "Time in which refusals of one client of the gateway server for the same reason are counted",
    limit: ms(REFUSALS_MS),
    beyond: "The first one has an audit line, then one line says how many followed.",
  },
  {
    what: "Bytes that the clients of a port of the NMEA 0183 server or the gateway server write",
    limit: `${INPUT_BYTES_PER_SECOND} a second, and as many at once; the audit line of a refusal counts as 1024`,
    beyond: "Connections are read later; nothing is lost.",
  },
  {
    what: "Frames of clients of the gateway server that have not come back from the bus",
    limit: count(MAX_SENT_FRAMES),
    beyond: "Further ones are shown as received (R) instead of sent (T).",
  },
  {
    what: "MQTT messages without an acknowledgement",
    limit: count(WINDOW_MESSAGES),
    beyond: "Further frames wait in -mqtt-buffer.",
  },
  {
    what: "Time without an acknowledgement of the MQTT broker while messages wait for one",
    limit: ms(ACK_TIMEOUT_MS),
    beyond: "The connection is closed and opened again.",
  },
  {
    what: "Values published for Home Assistant",
    limit: count(MAX_ENTITIES),
    beyond: "Values of further devices are not published.",
  },
  {
    what: "Alerts that /alerts lists",
    limit: count(MAX_RECENT),
    beyond: "The oldest leaves the list; the log has it.",
  },
  {
    what: "Subjects of alerts with a problem",
    limit: count(MAX_SUBJECTS),
    beyond: "The oldest is forgotten, and its recovery is not reported.",
  },
];

/** Limits of the boat's disk. */
const DISK: readonly FixedLimit[] = [
  {
    what: "Age of the oldest frame of a boat that is not synced to disk",
    limit: `${DEGRADED_SYNC_INTERVALS} times \`-journal-sync-interval\`, then ${ms(UNHEALTHY_MS)}`,
    beyond: "Health is degraded, then unhealthy, each with an alert; syncing continues.",
  },
  {
    what: "Time that an acknowledgement of a session waits for its frames to be synced to disk",
    limit: ms(SYNC_PATIENCE_MS),
    beyond: "503 with Retry-After; the cursor does not move.",
  },
  {
    what: "Use of the disk up to which files are kept past their age until the cloud has stored them, percent",
    limit: count(MAX_KEPT_DISK_PERCENT),
    beyond: "The oldest of these files are deleted, logged and counted in vbg_journal_deleted_unstored_frames_total.",
  },
  {
    what: "Damaged journal files and blocks named by health",
    limit: count(MAX_NAMED_FAULTS),
    beyond: "The oldest is no longer named; it is in the log.",
  },
];

/** Limits of the servers and of `vbg` that are constants. */
export const FIXED_LIMITS: readonly FixedLimit[] = [
  ...CONNECTIONS,
  ...CLIENTS,
  ...SERIES,
  ...BUSES,
  ...DISK,
  ...OUTSIDE,
  ...REPLICATION,
  ...COMMANDS,
  ...SIGNALK,
  ...STORE,
  ...TOOLS,
];
