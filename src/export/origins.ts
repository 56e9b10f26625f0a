/** What is known of the origin of messages besides what they carry. It changes while a recording is read. */
export interface Origins {
  /** Name of a bus, given by its index; empty: it has none. */
  busName(bus: number): string;
  /** NAME in hex of the device at an address; undefined: unknown. */
  nameOf(bus: number, src: number): string | undefined;
}
