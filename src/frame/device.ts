/** A device as every API shows it. Fields that are not known yet are left out. */
export interface Device {
  /** Current source address 0-253. */
  src: number;
  /** Interface name; there when the server has more than one bus. */
  bus?: string;
  /** 64-bit NAME, `0x` and 16 hex digits. */
  name?: string;
  manufacturer?: string;
  manufacturer_code?: number;
  device_class?: number;
  device_function?: number;
  device_instance?: number;
  unique_number?: number;
  product_code?: number;
  model_id?: string;
  software_version?: string;
  model_version?: string;
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
