import { OptionGroup } from "./option_types.ts";

const store = new OptionGroup("Store", { section: "store" });

/** Where an S3-compatible store is, for the server and for commands. */
export const storeEndpointOption = store.text({
  name: "store-endpoint",
  placeholder: "URL",
  help: "URL of an S3-compatible store, such as https://minio.example.com:9000. Default: AWS.",
  validate: (url) =>
    url === "" || /^https?:\/\/[^/?#]+\/?$/.test(url) && URL.canParse(url)
      ? undefined
      : "Expected http://HOST:PORT or https://HOST:PORT",
});

/** Whether a word is the URL of an object store rather than a path. */
export function isStoreUrl(word: string): boolean {
  return /^(?:s3|file):\/\//.test(word);
}
