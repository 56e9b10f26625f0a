import assert from "node:assert/strict";
import { tracedCommand } from "../../cli/program/otel.ts";
import { needs } from "../support/needs.ts";

const PROCESS = needs({ permissions: ["read"] });
const given = { endpoint: "http://127.0.0.1:4318", serviceName: "vbg-boat", permissions: ["-A"], environment: {} };

Deno.test("a part of the traces is told by the sampler of OpenTelemetry, all of them by none", PROCESS, () => {
  const all = tracedCommand({ ...given, sampleRatio: 1 })?.env ?? {};
  assert.deepEqual(all, {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: given.endpoint,
    OTEL_SERVICE_NAME: "vbg-boat",
  });
  const part = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" };
  assert.deepEqual(tracedCommand({ ...given, sampleRatio: 0.25 })?.env, { ...all, ...part });
});

Deno.test("a program that is traced already does not start another one", PROCESS, () => {
  assert.equal(tracedCommand({ ...given, sampleRatio: 1, environment: { OTEL_DENO: "true" } }), undefined);
});
