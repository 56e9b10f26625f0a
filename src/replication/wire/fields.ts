import { MAX_MESSAGE_BYTES } from "./messages.ts";
import { WireError, type WireReader, type WireWriter } from "./wire.ts";

/** The fields of a message, to bytes and back, without the tag and length that a nested message has. */
export interface MessageType<T> {
  write(w: WireWriter, message: T): void;
  read(r: WireReader): T;
}

/** How the value of a field is written and read. */
export interface FieldType<V> {
  /** Value of an absent field. Without it, a message that lacks the field is refused. */
  readonly initial?: () => V;
  /** The property of an absent field is left out. */
  readonly isOptional?: true;
  write(w: WireWriter, field: number, value: V): void;
  /** @param before value so far, of a field that occurs again: lists append to it, others replace it */
  read(r: WireReader, before?: V): V;
}

/** From 0 to 2^53 - 1. */
export const UINT64: FieldType<number> = {
  initial: () => 0,
  write: (w, field, value) => w.uint64(field, value),
  read: (r) => r.uint64(),
};
/** Number of a frame, from 0 to 2^53 - 2: the end of a range, which is exclusive, may be one more. */
export const SEQ: FieldType<number> = {
  initial: () => 0,
  write: (w, field, value) => w.uint64(field, checkSeq(value)),
  read: (r) => checkSeq(r.uint64()),
};

function checkSeq(seq: number): number {
  if (seq === Number.MAX_SAFE_INTEGER) throw new WireError(`sequence number ${seq} is above 2^53 - 2`);
  return seq;
}

/** From 0 to 2^53 - 1, for a property that may be left out: 0 is written, so that it differs from an absent field. */
export const PRESENT_UINT64: FieldType<number | undefined> = {
  isOptional: true,
  write: (w, field, value) => value === undefined ? undefined : w.presentUint64(field, value),
  read: (r) => r.uint64(),
};
/** Below 2^32. */
export const UINT32: FieldType<number> = {
  initial: () => 0,
  write: (w, field, value) => w.uint32(field, value),
  read: (r) => r.uint32(),
};
export const BOOL: FieldType<boolean> = {
  initial: () => false,
  write: (w, field, value) => w.bool(field, value),
  read: (r) => r.bool(),
};

/** UTF-8 of at most `max` bytes. */
export function text(max: number): FieldType<string> {
  return {
    initial: () => "",
    write: (w, field, value) => w.text(field, value, { max }),
    read: (r) => r.text(max),
  };
}

/** A list of at most `maxTexts` texts of at most `max` bytes each. */
export function texts(max: number, maxTexts: number): FieldType<string[]> {
  const item = { max: maxTexts, read: (r: WireReader) => r.text(max) };
  return {
    initial: () => [],
    write: (w, field, values) => w.texts(field, values, { max, maxTexts }),
    read: (r, before = []) => r.push(before, item),
  };
}

/** At most `max` bytes; decoded as a view of the received message. */
export function bytes(max: number): FieldType<Uint8Array> {
  return {
    initial: () => new Uint8Array(0),
    write: (w, field, value) => w.bytes(field, value, { max }),
    read: (r) => r.bytes(max),
  };
}

/** Exactly `size` bytes, decoded as a copy. There is no default value. */
export function exactBytes(what: string, size: number): FieldType<Uint8Array<ArrayBuffer>> {
  const check = ({ length }: Uint8Array) => {
    if (length !== size) throw new WireError(`${what} has ${length} bytes instead of ${size}`);
  };
  return {
    write(w, field, value) {
      check(value);
      w.bytes(field, value, { max: size });
    },
    read(r) {
      const value = r.bytes(MAX_MESSAGE_BYTES);
      check(value);
      return new Uint8Array(value);
    },
  };
}

/** A nested message; an absent one is undefined. */
export function nested<T>(type: MessageType<T>): FieldType<T | undefined> {
  return {
    initial: () => undefined,
    write(w, field, value) {
      if (value === undefined) return;
      const end = w.length;
      type.write(w, value);
      w.message(field, end);
    },
    read: (r) => r.message(type.read),
  };
}

/** A list of at most `max` nested messages. */
export function list<T>(type: MessageType<T>, max: number): FieldType<T[]> {
  const { write } = nested(type);
  const item = { max, read: (r: WireReader) => r.message(type.read) };
  return {
    initial: () => [],
    write: (w, field, values) => w.list(field, values, { max, write: (value) => write(w, field, value) }),
    read: (r, before = []) => r.push(before, item),
  };
}

/** The same type for a property that may be left out. */
export function optional<V>({ write, read }: FieldType<V>): FieldType<V | undefined> {
  return {
    isOptional: true,
    write: (w, field, value) => value === undefined ? undefined : write(w, field, value),
    read,
  };
}

/** Number and type of the field of each property. */
type Schema<T> = { readonly [K in keyof T]-?: readonly [number: number, type: FieldType<T[K]>] };

/**
 * A message with one field per property. `check` throws {@linkcode WireError} for invalid values, in both directions.
 */
export function message<T extends object>(schema: Schema<T>, check: (message: T) => void = () => {}): MessageType<T> {
  const fields = (Object.keys(schema) as (keyof T)[]).map((name) => fieldOf(schema, name));
  const lastFirst = fields.toSorted((a, b) => b.number - a.number);
  const byNumber = new Map(fields.map((field) => [field.number, field]));
  const required = fields.filter(({ type }) => !type.initial && !type.isOptional);
  return {
    write(w, value) {
      check(value);
      for (const { number, type, name } of lastFirst) type.write(w, number, value[name]);
    },
    read(r) {
      const value: Partial<T> = {};
      for (const { name, type } of fields) if (type.initial) value[name] = type.initial();
      for (let number = r.next(); number !== 0; number = r.next()) {
        const field = byNumber.get(number);
        if (field) value[field.name] = field.type.read(r, value[field.name]);
        else r.skip();
      }
      for (const { name, number } of required) if (!(name in value)) throw new WireError(`field ${number} is missing`);
      check(value as T);
      return value as T;
    },
  };
}

function fieldOf<T, K extends keyof T>(schema: Schema<T>, name: K): { name: K; number: number; type: FieldType<T[K]> } {
  const [number, type] = schema[name];
  return { name, number, type };
}
