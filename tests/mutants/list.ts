/** A small fault that could slip into the code, and the tests that must notice it. */
export interface Mutant {
  /** What breaks for the user. */
  name: string;
  /** Text of the code, exactly once in `src` and `cli`, whichever file has it. */
  find: string;
  /** What stands there instead. */
  replace: string;
  /** Test files that must fail: the end of their path, which only one file has. */
  tests: readonly string[];
}

/** Texts hold no names that are private to a file where that can be helped: code moves and names change. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: "the ledger: frames of numbered messages are not counted",
    find: "tally.frames += frames;",
    replace: "",
    tests: ["faults/ledger_test.ts"],
  },
  {
    name: "the ledger: frames of messages that are given up are not counted",
    find: "this.#frameDrops[reason] += bitsOf(assembly.mask);",
    replace: "",
    tests: ["faults/ledger_test.ts", "assembler_fates_test.ts"],
  },
  {
    name: "the ledger: messages that the disk did not take are not counted",
    find: "this.#lostOf[bus] = (this.#lostOf[bus] ?? 0) + 1;",
    replace: "this.#lostOf[bus] = 0;",
    tests: ["faults/ledger_test.ts"],
  },
  {
    name: "fast packets of one source that are under way together are mixed up",
    find: "(head >>> 5)",
    replace: "0",
    tests: ["assembler_test.ts"],
  },
  {
    name: "an incomplete fast packet is not counted",
    find: "this.drops[reason]++;",
    replace: "this.drops[reason] += 0;",
    tests: ["assembler_loss_test.ts"],
  },
  {
    name: "a device that leaves address 0 stays in the device table",
    find: "let at = addressKey(bus, 0);",
    replace: "let at = addressKey(bus, 1);",
    tests: ["registry_test.ts"],
  },
  {
    name: "the last number before a restart is given out twice",
    find: "(cleanHead ?? reservedThrough) + 1",
    replace: "(cleanHead ?? reservedThrough)",
    tests: ["sequence_store_test.ts"],
  },
  {
    name: "a frame whose first byte is overwritten can still be read from the ring",
    find: "if (start >= floor) return;",
    replace: "if (start + 1 >= floor) return;",
    tests: ["ring_test.ts"],
  },
  {
    name: "dropped frames are missing from the total of a subscription",
    find: "droppedTotal++;",
    replace: "droppedTotal += 0;",
    tests: ["subscription_test.ts"],
  },
  {
    name: "a reader gets the last frame of the journal once more from the ring",
    find: "= frame.seq + 1;",
    replace: "= frame.seq;",
    tests: ["cursor_test.ts"],
  },
  {
    name: "a damaged block is read as if it were whole",
    find: "found !== view.getUint32(blockBytes - CRC_FROM_END, true)",
    replace: "found === -1",
    tests: ["fuzz/journal_test.ts"],
  },
  {
    name: "a write-ahead log is removed though its frames could not be written to a file",
    find: "found.pending.length === 0",
    replace: "found.pending.length >= 0",
    tests: ["journal_writer_disk_test.ts"],
  },
  {
    name: "a gap record counts the last frame before the gap as missing",
    find: '{ firstMissing: this.#lastSeq + 1, reason: "source" }',
    replace: '{ firstMissing: this.#lastSeq, reason: "source" }',
    tests: ["journal_writer_test.ts"],
  },
  {
    name: "retention by size deletes more than it must",
    find: "kept -= sizeOf(file);",
    replace: "",
    tests: ["retention/plan_test.ts"],
  },
  {
    name: "a block is skipped whose last frame is the first that is asked for",
    find: "(block.baseSeq ?? NaN) + block.frameCount > fromSeq",
    replace: "(block.baseSeq ?? NaN) + block.frameCount > fromSeq + 1",
    tests: ["journal_index_test.ts"],
  },
  {
    name: "the cloud acknowledges frames that are not on its disk yet",
    find: "safe.contiguousThrough()",
    replace: "held.contiguousThrough()",
    tests: ["received_test.ts"],
  },
  {
    name: "frames that a full list of holes leaves out are taken for received",
    find: "remaining.length < MAX_RANGES",
    replace: "remaining.length <= MAX_RANGES",
    tests: ["backfill_plan_test.ts"],
  },
  {
    name: "an old image of a boat goes on beside the boat that replaced it",
    find: "previous.includes(id)",
    replace: "previous[0] === id",
    tests: ["received_epochs_test.ts"],
  },
  {
    name: "a client gets the frame that it has acknowledged once more",
    find: "session.cursor, seq + 1",
    replace: "session.cursor, seq",
    tests: ["stream/sessions_test.ts"],
  },
  {
    name: "a history that its limit cuts says nothing of the next page",
    find: "page.count === limit",
    replace: "page.count === limit + 1",
    tests: ["history_pages_test.ts"],
  },
  {
    name: "a rule that denies a NAME lets messages to unknown addresses pass",
    find: "name === undefined ? !deny : !names.includes(name)",
    replace: "name === undefined || !names.includes(name)",
    tests: ["send_policy_test.ts"],
  },
  {
    name: "a token for reading may send",
    find: "!scopes.includes(scope)",
    replace: 'scope !== "send" && !scopes.includes(scope)',
    tests: ["http/auth_test.ts"],
  },
  {
    name: "a boat with a valid certificate writes into another boat's data",
    find: "claimed !== undefined && claimed !== name",
    replace: 'claimed !== undefined && claimed === ""',
    tests: ["identity_test.ts"],
  },
  {
    name: "a connected boat goes on after its certificate is revoked",
    find: " && !identity.serials.some(this.#isRevoked)",
    replace: "",
    tests: ["cloud_port_identity_test.ts"],
  },
  {
    name: "a message of an Actisense gateway with a wrong checksum is taken",
    find: "% 256 !== 0",
    replace: "% 256 < 0",
    tests: ["gateway_formats_test.ts"],
  },
  {
    name: "a number that is not available shows as a value",
    find: "`${nulls}?null:${value}`",
    replace: "value",
    tests: ["pgn/vectors_test.ts"],
  },
  {
    name: "-where takes a field that is not available for a value",
    find: "(value) => value === null : (value) => value !== null",
    replace: "(value) => value === null : (value) => value !== undefined",
    tests: ["where_test.ts"],
  },
  {
    name: "degrees Celsius are converted to Fahrenheit without the zero point of Fahrenheit",
    find: " - (to.plus ?? 0)",
    replace: "",
    tests: ["fields_test.ts"],
  },
  {
    name: "verify ends with 0 though it found a damaged journal",
    find: "return verified.errors === 0;",
    replace: "return true;",
    tests: ["verify_test.ts"],
  },
  {
    name: "a bus that has just come up is reported as silent at once",
    find: "Math.max(frameMs, upSinceMs)",
    replace: "frameMs",
    tests: ["alerts_watch_test.ts"],
  },
  {
    name: "connections to the MQTT broker are not counted",
    find: "connects: this.#link.connects",
    replace: "connects: 0",
    tests: ["mqtt_test.ts"],
  },
  {
    name: "frames that the kernel dropped show as frames that the interface dropped",
    find: "(c) => c.kernelDropped",
    replace: "(c) => c.interfaceDropped",
    tests: ["http/metrics_test.ts"],
  },
  {
    name: "a state file takes the old one's place before its bytes are on disk",
    find: "write(file);\n  await file.sync();",
    replace: "write(file);",
    tests: ["atomic_file_test.ts"],
  },
  {
    name: "a 200 for an object that the store does not keep is believed",
    find: 'if (found || typeof etag === "object") return "exists";',
    replace: 'if (true) return found ? "exists" : "stored";',
    tests: ["s3_store_test.ts"],
  },
  {
    name: "an object with the same bytes is taken for one's own",
    find: "found.writer === writer && ",
    replace: "",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "an object that an earlier attempt stored counts as another writer's",
    find: 'if (isWrittenBy(found, body)) return "stored";',
    replace: "",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "an object replaces one that exists",
    find: '...(isNew && { IfNoneMatch: "*" }),',
    replace: "",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "damaged bytes of an object are handed out",
    find: "if (!isIntact) {",
    replace: "if (!isIntact && bytes.length === 0) {",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "a page of a proxy is a list without objects",
    find: "Name !== this.#bucket ||",
    replace: "",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "a page of a proxy shows that an object is there",
    find: "etag: this.#tagOf(ETag, key),",
    replace: 'etag: ETag ?? "",',
    tests: ["s3_store_test.ts"],
  },
  {
    name: "an object is reported as missing though its bucket is",
    find: "await this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket }), { abortSignal: signal });",
    replace: "",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "an archived file replaces another object",
    find: "file, isNew: true }).catch",
    replace: "file, isNew: false }).catch",
    tests: ["s3_archive_test.ts"],
  },
  {
    name: "a 200 for an archived file that the store does not keep is believed",
    find: "if (etag === file.md5Hex) return",
    replace: "if (etag === file.md5Hex || !refusal) return",
    tests: ["s3_archive_test.ts"],
  },
  {
    name: "checkStore leaves its objects in the store",
    find: "await store.delete(Object.values(keys))",
    replace: "await Promise.resolve()",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "a store that ignores If-None-Match passes its check",
    find: "if (!winner || winners.length > 1) {",
    replace: "if (!winner) {",
    tests: ["s3_store_test.ts"],
  },
  {
    name: "an object is acknowledged before its folder is on the disk",
    find: "for (const folder of folders.toReversed()) await syncDirectory(folder);",
    replace: "",
    tests: ["directory_store_test.ts"],
  },
  {
    name: "an object is acknowledged before its bytes are on the disk",
    find: "at += await file.write(body.subarray(at));\n  await file.sync();",
    replace: "at += await file.write(body.subarray(at));",
    tests: ["directory_store_test.ts"],
  },
  {
    name: "a key leads out of the folder of the store",
    find: 'if (segment.startsWith("."))',
    replace: 'if (segment === ".")',
    tests: ["directory_store_test.ts"],
  },
  {
    name: "objects on a disk are listed in the order of folders",
    find: "return paths.sort(compareKeys);",
    replace: 'return paths.sort((a, b) => compareKeys(a.replace("/", ""), b.replace("/", "")));',
    tests: ["directory_store_test.ts"],
  },
  {
    name: "frames count as stored before the store has answered",
    find: "    const answer = await this.#store.putIfAbsent(key, bytes, { digests, signal });",
    replace:
      "    this.#add(key, { ...object, size: bytes.length, time });\n    const answer = await this.#store.putIfAbsent(key, bytes, { digests, signal });",
    tests: ["store/lost_node_test.ts", "store_kills_test.ts"],
  },
  {
    name: "a block that is offered to the store when the journal is closed is left behind",
    find: '    if (result === "pending" && mayWait && !this.#isEnded) return { kind: "wait" };',
    replace: '    if (result === "pending" && mayWait) return { kind: "wait" };',
    tests: ["journal_writer_placing_test.ts"],
  },
  {
    name: "an object that is there with fewer bytes counts as stored",
    find: "if (found?.size === bytes) return;",
    replace: "if (found) return;",
    tests: ["boat_objects_test.ts"],
  },
  {
    name: "no more boats are stored in a second than at the same time",
    find: "if (isDone) return this.#beginQueued();",
    replace: "if (isDone) return;",
    tests: ["frame_shipper_test.ts"],
  },
  {
    name: "an object is deleted as soon as another one has its frames",
    find: "if (storeMs - by.storedMs < GRACE_MS) continue;",
    replace: "",
    tests: ["compaction_test.ts"],
  },
  {
    name: "an object is deleted for the numbers of another one, whatever its content",
    find: "if (!memory.verified.has(pair)) {",
    replace: "if (false) {",
    tests: ["compaction_test.ts"],
  },
  {
    name: "numbers of deleted objects are not recorded",
    find: "await store.putIfAbsent(key, new Uint8Array(), { signal });",
    replace: "",
    tests: ["compaction_test.ts"],
  },
  {
    name: "a reader whose file is replaced skips its frames",
    find: "if (!found && epochWord !== 0) {",
    replace: "if (!found && epochWord < 0) {",
    tests: ["reading_test.ts"],
  },
  {
    name: "a text with a line break is not quoted in a CSV file",
    find: 'SPECIAL = /[",\\r\\n]/',
    replace: 'SPECIAL = /[",]/',
    tests: ["cli/export_table_test.ts"],
  },
  {
    name: "a number of a CSV file has zeros at its end",
    find: "rest % 10 === 0",
    replace: "rest < 0",
    tests: ["export/tables_test.ts"],
  },
  {
    name: "a NAME that changes while a recording is read stays the old one in an exported table",
    find: "if (wanted.learn(device)) target.originsChanged();",
    replace: "wanted.learn(device);",
    tests: ["cli/export_test.ts"],
  },
  {
    name: "a failed export leaves its file",
    find: "await target.abandon();",
    replace: "",
    tests: ["cli/export_command_test.ts"],
  },
  {
    name: "the end of a Parquet file with many row groups lacks some",
    find: "yield zstdDecompressSync(packed);",
    replace: "yield packed;",
    tests: ["export/parquet_test.ts"],
  },
  {
    name: "an exported session of the transport protocol announces a wrong length",
    find: "[kind, length & 0xff, length >> 8, packets, ANY_PACKETS]",
    replace: "[kind, length & 0xff, 0, packets, ANY_PACKETS]",
    tests: ["can/split_test.ts"],
  },
];
