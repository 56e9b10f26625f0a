/** A device as every API shows it. Fields that are not known yet are left out. */
export interface Device {
  /** Current source address 0-253. */
  src: number;
  /** Interface name; there when the server has more than one bus. */
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
  /** 21 bits, the manufacturer's own. */
  unique_number?: number;
  /** Product code, from PGN 126996 like all that follows. */
  product_code?: number;
  /** Model, as the device calls itself. */
  model_id?: string;
  /** Version of its software. */
  software_version?: string;
  /** Version of its hardware or model. */
  model_version?: string;
  /** Serial number. */
  model_serial?: string;
  /** RFC 3339, first frame. */
  first_seen: string;
  /** RFC 3339, last frame. */
  last_seen: string;
  /** Messages received from this device. */
  packet_count: number;
  /** Payload bytes received from this device. */
  byte_count: number;
}

/** What happened to an entry of the device table. */
export type DeviceEvent = { event: "added" | "updated" | "removed"; device: Device };
