/**
 * The pieces as a body. Fails when the client reads nothing for `idleMs`, because other requests wait.
 *
 * @param options.release called once the body was sent, cancelled or has failed
 */
export function bodyOf(
  pieces: AsyncIterator<Uint8Array, unknown>,
  { release, idleMs }: { release: () => void; idleMs: number },
): ReadableStream<Uint8Array> {
  let idle: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const over = () => {
    isOver = true;
    clearTimeout(idle);
    release();
  };
  const wait = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    idle = setTimeout(() => {
      over();
      controller.error(new Error(`The client read nothing for ${idleMs / 1000} s`));
      void pieces.return?.();
    }, idleMs);
  };
  return new ReadableStream<Uint8Array>({
    start: wait,
    async pull(controller) {
      clearTimeout(idle);
      try {
        for (;;) {
          const { value, done } = await pieces.next();
          if (isOver) return;
          if (done) {
            over();
            return controller.close();
          }
          if (value.length === 0) continue;
          controller.enqueue(value);
          return wait(controller);
        }
      } catch (error) {
        over();
        throw error;
      }
    },
    async cancel() {
      over();
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
}
