/** What mouse and fingers do on a chart; places are parts of its width. */
export interface PointerHandlers {
  /** The mouse or one finger is at a place; undefined: the mouse left. */
  onPoint: (at: number | undefined) => void;
  /** Two fingers moved. */
  onPinch: (start: readonly [number, number], now: readonly [number, number]) => void;
  /** One of two fingers was lifted. */
  onPinchEnd: () => void;
}

/** Listens to mouse and fingers until the returned function is called. */
export function listenToPointers(element: HTMLElement, { onPoint, onPinch, onPinchEnd }: PointerHandlers): () => void {
  const fingers = new Map<number, { start: number; now: number }>();
  const placeOf = (event: PointerEvent) => {
    const { left, width } = element.getBoundingClientRect();
    return (event.clientX - left) / Math.max(1, width);
  };
  const down = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, { start: placeOf(event), now: placeOf(event) });
    // The second finger begins a pinch: where the first one is now counts.
    for (const finger of fingers.values()) finger.start = finger.now;
    if (fingers.size === 1) onPoint(placeOf(event));
  };
  const move = (event: PointerEvent) => {
    if (event.pointerType === "mouse") return onPoint(placeOf(event));
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    finger.now = placeOf(event);
    const [a, b] = [...fingers.values()];
    if (a && b) onPinch([a.start, b.start], [a.now, b.now]);
    else onPoint(finger.now);
  };
  const up = (event: PointerEvent) => {
    if (fingers.delete(event.pointerId) && fingers.size === 1) onPinchEnd();
  };
  const leave = (event: PointerEvent) => {
    if (event.pointerType === "mouse") onPoint(undefined);
  };
  const listeners = {
    ...{ pointerdown: down, pointermove: move, pointerup: up, pointercancel: up },
    pointerleave: leave,
  };
  for (const [type, listener] of Object.entries(listeners)) {
    element.addEventListener(type, listener as EventListener);
  }
  return () => {
    for (const [type, listener] of Object.entries(listeners)) {
      element.removeEventListener(type, listener as EventListener);
    }
  };
}
