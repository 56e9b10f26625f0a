import { DEFAULT_STORE_INTERVAL_MS } from "@vessel/gateway/cloud-server";
import { errorText } from "@vessel/gateway/base";
import { parseStoreUrl } from "@vessel/gateway/cloud";
import { OptionGroup } from "./option_types.ts";
import { storeEndpointOption } from "./store_endpoint.ts";
import { type Check, refuse, type SettingsOf, warn } from "./options.ts";

const UNUSED = "Not used without -store";

const store = new OptionGroup("Store", { section: "store" });

/** Options of the object store. */
export const storeOptions = {
  store: store.text({
    name: "store",
    key: "store.url",
    placeholder: "URL",
    help:
      "Object store for the frames of all boats: s3://BUCKET/PREFIX or file:///FOLDER. What it has confirmed survives the " +
      "loss of this machine; then the data directory only has frames on their way to it. Credentials are found where the " +
      "AWS tools find them: environment, shared files, metadata of the machine. Default: none, frames stay in the data " +
      "directory.",
    validate: (url) => {
      if (url === "") return undefined;
      try {
        parseStoreUrl(url);
        return undefined;
      } catch (error) {
        return errorText(error);
      }
    },
  }),
  storeEndpoint: storeEndpointOption,
  storeIntervalMs: store.duration({
    name: "store-interval",
    beyond: "A boat keeps frames of its journal until they are in the store.",
    default: DEFAULT_STORE_INTERVAL_MS,
    minMs: 1000,
    maxMs: 3_600_000,
    help: "Time from one storing of a boat's new frames to the next. Longer: fewer requests that cost money.",
  }),
  storeCacheBytes: store.size({
    name: "store-cache-size",
    beyond: "The sidecars that were not used for longest are deleted, and made again when a request needs them.",
    default: 2 ** 30,
    minBytes: 2 ** 20,
    maxBytes: 2 ** 50,
    help:
      "Most bytes of sidecars on the local disk: with them charts of long times need no frames from the store. They are made " +
      "when a request needs them, and take about 2 % of the frames.",
  }),
  spoolDir: store.text({
    name: "spool-dir",
    placeholder: "DIR",
    help:
      "Directory of frames on their way to the store, with a directory for each boat. Created if missing; used by one " +
      "process at a time. Default: -data-dir.",
  }),
};

/** Settings of the object store. */
export type StoreSettings = SettingsOf<typeof storeOptions>;

/** Checks of several settings of the object store. */
export const storeChecks: readonly Check<StoreSettings & { archiveTrigger: string }>[] = [
  warn(["storeEndpoint", "store"], ({ storeEndpoint, store }) => storeEndpoint !== "" && store === "" && UNUSED),
  warn(["spoolDir", "store"], ({ spoolDir, store }) => spoolDir !== "" && store === "" && UNUSED),
  refuse(
    ["store", "archiveTrigger"],
    ({ store, archiveTrigger }) =>
      store !== "" && archiveTrigger !== "disabled" &&
      "Cannot archive files that go to the object store: use the lifecycle rules of the store",
  ),
];
