import type { BusCounters, ControllerState } from "../bus.ts";

/** Names and values of linux/can.h and linux/can/error.h. */
/** Flag in `can_id`: 29-bit identifier. */
export const CAN_EFF_FLAG = 0x80000000;
/** Flag in `can_id`: remote transmission request. */
export const CAN_RTR_FLAG = 0x40000000;
/** Flag in `can_id`: an error message of the controller instead of a frame from the bus. */
export const CAN_ERR_FLAG = 0x20000000;
/** All classes of error frames, for CAN_RAW_ERR_FILTER. */
export const CAN_ERR_MASK = 0x1fffffff;

/** Class: a problem of the controller, given in data byte 1. */
const CAN_ERR_CRTL = 0x004;
/** Class: a frame was not sent in time. */
const CAN_ERR_TX_TIMEOUT = 0x001;
/** Classes: a violation of the protocol, with or without its place; an error of the bus. */
const CAN_ERR_PROT = 0x008;
const CAN_ERR_BUSERROR = 0x080;
/** Class: an error of the transceiver. */
const CAN_ERR_TRX = 0x010;
/** Class: no acknowledge. */
const CAN_ERR_ACK = 0x020;
/** Class: the controller is bus-off. */
const CAN_ERR_BUSOFF = 0x040;
/** Class: the controller was restarted after bus-off. */
const CAN_ERR_RESTARTED = 0x100;

/** Data byte 1: the receive or send buffer was full. */
const CAN_ERR_CRTL_OVERFLOW = 0x01 | 0x02;
/** Data byte 1: 96 or more errors of reception, of transmission. */
const CAN_ERR_CRTL_WARNING = 0x04 | 0x08;
/** Data byte 1: 128 or more errors of reception, of transmission. */
const CAN_ERR_CRTL_PASSIVE = 0x10 | 0x20;
/** Data byte 1: recovered to the state error-active. */
const CAN_ERR_CRTL_ACTIVE = 0x40;

/**
 * State of the controller after an error frame.
 *
 * @param current state before; most error frames (lost arbitration, no acknowledge, bus errors) do not change it
 * @param frame.classes identifier of the error frame: its classes, with or without flags
 * @param frame.controller data byte 1
 */
export function controllerAfter(
  current: ControllerState,
  { classes, controller }: { classes: number; controller: number },
): ControllerState {
  if (classes & CAN_ERR_BUSOFF) return "bus-off";
  if (classes & CAN_ERR_CRTL) {
    if (controller & CAN_ERR_CRTL_PASSIVE) return "error-passive";
    if (controller & CAN_ERR_CRTL_WARNING) return "error-warning";
    if (controller & CAN_ERR_CRTL_ACTIVE) return "error-active";
  }
  if (classes & CAN_ERR_RESTARTED) return "error-active";
  return current;
}

/** Counts an error frame, in all and by kind. See {@linkcode controllerAfter} for `frame`. */
export function countErrorFrame(
  counters: Pick<BusCounters, "errorFrames" | "errors">,
  { classes, controller }: { classes: number; controller: number },
): void {
  const { errors } = counters;
  counters.errorFrames++;
  if (classes & CAN_ERR_ACK) errors.no_acknowledge++;
  else if (classes & (CAN_ERR_PROT | CAN_ERR_BUSERROR)) errors.bus_error++;
  else if (classes & CAN_ERR_CRTL && controller & CAN_ERR_CRTL_OVERFLOW) errors.overflow++;
  else if (classes & (CAN_ERR_TRX | CAN_ERR_TX_TIMEOUT)) errors.other++;
}
