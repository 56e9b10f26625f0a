import { MAX_SUBSCRIPTIONS } from "../src/http/signalk/messages.ts";
import { CHANGE_BURST, CHANGES_PER_SECOND } from "../src/http/signalk/server.ts";
import { STALLED_MS } from "../src/http/signalk/socket.ts";
import { MAX_WEB_APPS } from "../src/http/webapps.ts";
import { MAX_ALERT_TEXTS } from "../src/signalk/mapping/prepare.ts";
import {
  AIS_LIFETIME_MS,
  FORGET_MS,
  MAX_CONTEXTS,
  MAX_DEVICE_STATES,
  MAX_HISTORY_PATH_CHARS,
  MAX_HISTORY_PATHS,
  MAX_SMA_SAMPLES,
  MAX_VALUES,
  MIN_STALE_MS,
} from "../src/signalk/mod.ts";
import { MAX_SERIES_BUCKETS } from "../src/http/series/series.ts";
import { count, type FixedLimit, ms } from "./fixed_limit.ts";

/** Limits of Signal K. */
export const SIGNALK: readonly FixedLimit[] = [
  {
    what: "Vessels, aids to navigation and stations in Signal K",
    limit: count(MAX_CONTEXTS),
    beyond: "The one not heard for the longest time is removed.",
  },
  {
    what: "Values in Signal K, one for each vessel, path and source",
    limit: count(MAX_VALUES),
    beyond: "Further ones are refused and counted in vbg_signalk_refused_total; health is degraded.",
  },
  {
    what: "Time after which what AIS reported is removed",
    limit: ms(AIS_LIFETIME_MS),
    beyond: "It is reported again when it is heard again.",
  },
  {
    what: "Shortest time after which a value is stale: else three of its intervals",
    limit: ms(MIN_STALE_MS),
    beyond: "Its value is null when no other source has a fresh one.",
  },
  {
    what: "Time after which a stale value of the own vessel is forgotten",
    limit: ms(FORGET_MS),
    beyond: "Its path is not in the tree until a value comes again.",
  },
  {
    what: "Subscriptions of one client of the stream",
    limit: count(MAX_SUBSCRIPTIONS),
    beyond: "It is disconnected.",
  },
  {
    what: "Changed patterns of a client of the stream, of which each change counts all that it has, at least 8",
    limit: `${CHANGES_PER_SECOND} a second, ${CHANGE_BURST} at once`,
    beyond: "It is disconnected.",
  },
  {
    what: "Time that a slow client of the stream reads nothing",
    limit: ms(STALLED_MS),
    beyond: "It is disconnected.",
  },
  {
    what: "Devices whose earlier messages are remembered for later ones, such as the texts of alerts",
    limit: count(MAX_DEVICE_STATES),
    beyond: "The oldest is forgotten.",
  },
  {
    what: "Texts of alerts of one device",
    limit: count(MAX_ALERT_TEXTS),
    beyond: "The oldest is forgotten.",
  },
  { what: "Paths of one request for history of Signal K", limit: count(MAX_HISTORY_PATHS), beyond: "400." },
  {
    what: "Characters of a path in a request for history of Signal K",
    limit: count(MAX_HISTORY_PATH_CHARS),
    beyond: "400.",
  },
  {
    what:
      "Samples of a reply to a request for history of Signal K, of all paths and sources together; with the method " +
      "middle_index each value counts",
    limit: count(MAX_SERIES_BUCKETS),
    beyond: "400.",
  },
  { what: "Samples in a moving average of the history of Signal K", limit: count(MAX_SMA_SAMPLES), beyond: "400." },
  {
    what: "Web apps",
    limit: count(MAX_WEB_APPS),
    beyond: "Further ones are not served.",
  },
];
