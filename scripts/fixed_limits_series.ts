import { MAX_FIELD_CHARS, MAX_SERIES_FIELDS } from "../src/http/series/query.ts";
import { MAX_SERIES_BUCKETS } from "../src/http/series/series.ts";
import { MAX_VOYAGE_DAYS } from "../src/http/voyages/routes.ts";
import { MAX_CHUNK_BUCKETS, MAX_CHUNK_SERIES } from "../src/series/rollup/rolled_file.ts";
import { count, type FixedLimit } from "./fixed_limit.ts";

/** Limits of series and voyages. */
export const SERIES: readonly FixedLimit[] = [
  {
    what: "Fields of one request for /series",
    limit: count(MAX_SERIES_FIELDS),
    beyond: "400 naming the parameter.",
  },
  {
    what: "Characters of a field of a request for /series",
    limit: count(MAX_FIELD_CHARS),
    beyond: "400 naming the parameter.",
  },
  {
    what: "Series in one part of a sidecar of the journal",
    limit: count(MAX_CHUNK_SERIES),
    beyond: "The next part begins. A block with more series by itself is in no sidecar: /series reads its frames.",
  },
  {
    what: "Buckets of a file of the journal that are in memory only",
    limit: `${count(MAX_CHUNK_BUCKETS)}, and those of one block`,
    beyond: "They are written to the sidecar.",
  },
  {
    what: "Points of all series in one reply to /series",
    limit: count(MAX_SERIES_BUCKETS),
    beyond: "400.",
  },
  {
    what: "Days of one request for /voyages",
    limit: count(MAX_VOYAGE_DAYS),
    beyond: "400 naming the parameter.",
  },
];
