/**
 * The network doctor: checks all messages of the buses continuously, and says in plain words what is wrong with which
 * device. Pure: messages, readings of the buses and times are parameters; what it has learned goes in and out as JSON.
 *
 * For each message it only counts; payloads are decoded once a second for each device and quantity. Each check is a class
 * in `checks`; what all of them share is the model (`model.ts`) and the book of findings (`findings.ts`), which holds a
 * finding back until its cause has lasted, and ends it some time after the cause. A check reports nothing that may have
 * another reason: a bus that was silent, a process that was suspended, frames that this machine has lost.
 *
 * @module
 */
export { Doctor, type DoctorOptions, type DoctorTime } from "./doctor.ts";
export { type Finding, FINDING_KINDS, type FindingKind, type FrameReference, type Severity } from "./kinds.ts";
export type { FindingEvent } from "./findings.ts";
export type { BusLoad, BusReading, ErrorFrameCounts } from "./model.ts";
export { type DoctorState, parseDoctorState } from "./memory.ts";
export { RecordedDoctor } from "./recorded.ts";
