import { OptionGroup } from "./option_types.ts";
import { type Check, refuse, type SettingsOf } from "./options.ts";
import type { CloudListenSettings } from "./cloud_listen_options.ts";
import type { StoreSettings } from "./store_options.ts";
import { tlsPairProblem } from "./tls_pair.ts";

const nodes = new OptionGroup("Nodes", { section: "node" });

/** Options of a node that shares its object store with others. */
export const nodeOptions = {
  nodeUrl: nodes.text({
    name: "node-url",
    key: "node.url",
    placeholder: "URL",
    help:
      "URL at which the other nodes with the same -store reach this one, such as https://10.0.0.1:9444: boats may connect " +
      "to any node, and each node answers for all boats. Not the address of a balancer. Needs -node-cert and -node-key.",
    validate: (value) => {
      const { protocol, pathname, username, search, hash } = URL.canParse(value) ? new URL(value) : new URL("none:");
      return value === "" || (protocol === "https:" && pathname === "/" && username + search + hash === "")
        ? undefined
        : `Cannot read the URL "${value}" of a node: expected https://HOST:PORT`;
    },
  }),
  nodeListen: nodes.address({
    name: "node-listen",
    key: "node.listen",
    help:
      "Address that other nodes connect to; only nodes are served there. Default: all addresses at the port of -node-url.",
  }),
  nodeCert: nodes.text({
    name: "node-cert",
    key: "node.cert",
    placeholder: "FILE",
    help:
      "PEM file with the certificate of this node: `vbg-cloud ca issue -node NAME` creates it. Reloaded when it changes.",
  }),
  nodeKey: nodes.text({
    name: "node-key",
    key: "node.key",
    placeholder: "FILE",
    help: "PEM file with the key of -node-cert, not encrypted.",
  }),
};

/** Settings of a node. */
export type NodeSettings = SettingsOf<typeof nodeOptions>;

/** Checks of these settings beside others. */
export const nodeChecks: readonly Check<
  NodeSettings & Pick<StoreSettings, "store"> & Pick<CloudListenSettings, "insecure">
>[] = [
  refuse(
    ["nodeUrl", "store"],
    ({ nodeUrl, store }) =>
      nodeUrl !== "" && store === "" && "Cannot be one of several nodes without -store, which they share",
  ),
  refuse(
    ["nodeUrl", "insecure"],
    ({ nodeUrl, insecure }) =>
      nodeUrl !== "" && insecure && "Cannot use -node-url with -insecure: nodes know each other by their certificates",
  ),
  refuse(["nodeUrl", "nodeCert"], ({ nodeUrl, nodeCert }) =>
    nodeUrl !== "" && nodeCert === "" &&
    "Cannot use -node-url without -node-cert and -node-key: `vbg-cloud ca issue -node NAME` creates them"),
  refuse(
    ["nodeUrl", "nodeListen", "nodeCert"],
    ({ nodeUrl, nodeListen, nodeCert }) =>
      nodeUrl === "" && (nodeListen !== undefined || nodeCert !== "") &&
      "Cannot use -node-listen and -node-cert without -node-url",
  ),
  refuse(
    ["nodeCert", "nodeKey"],
    ({ nodeCert, nodeKey }) => tlsPairProblem({ cert: nodeCert, key: nodeKey }, { cert: "node-cert", key: "node-key" }),
  ),
];
