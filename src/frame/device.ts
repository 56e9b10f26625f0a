/** A device as the APIs show it. Unknown fields are omitted. */
export interface Device {
  /** Current source address 0-253. */
  src: number;
  /** Bus name; present when the server has more than one bus. */
  bus?: string;
  /** 64-bit NAME, `0x` and 16 hex digits. */
  name?: string;
  /** Name of the manufacturer, resolved from its code. */
  manufacturer?: string;
  /** 11-bit code of the manufacturer. */
  manufacturer_code?: number;
  /** 7-bit class of the NAME. */
  device_class?: number;
  /** 8-bit function of the NAME; its meaning depends on the class. */
  device_function?: number;
  /** 0-252. */
  device_instance?: number;
  /** 21-bit serial number, unique per manufacturer. */
  unique_number?: number;
  /** Product code, from PGN 126996 as the four fields below. */
  product_code?: number;
  /** Model name that the device reports. */
  model_id?: string;
  /** Version of its software. */
  software_version?: string;
  /** Version of its hardware or model. */
  model_version?: string;
  /** Serial number. */
  model_serial?: string;
  /** Time of the first frame, RFC 3339. */
  first_seen: string;
  /** Time of the last frame, RFC 3339. */
  last_seen: string;
  /** Messages received from this device. */
  packet_count: number;
  /** Payload bytes received from this device. */
  byte_count: number;
}

/** A change of the device table. */
export type DeviceEvent = { event: "added" | "updated" | "removed"; device: Device };
