/** Waiting that a signal ends. */

/** The value of a promise, or the reason of the signal if it comes first. */
export function within<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  promise.catch(() => {}) // nobody may be left to see how it fails
  if (signal.aborted) return Promise.reject(signal.reason)
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener("abort", end, { once: true })
  return Promise.race([promise, ended]).finally(() => signal.removeEventListener("abort", end))
}

/** Waits at least so long: a timer can be early by a millisecond. */
export async function pause(milliseconds: number, signal: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds + 2)))
  try {
    await within(over, signal)
  } finally {
    clearTimeout(timer)
  }
}

/** The reason of a signal whose own time is over. */
export class TimeOver extends Error {}

/** A signal for a part of what another one is for, with a time of its own in seconds. */
export function limited(signal: AbortSignal, seconds: number) {
  const own = new AbortController()
  setTimeout(() => own.abort(new TimeOver()), Math.min(seconds * 1000, 2 ** 31 - 1)).unref()
  return AbortSignal.any([signal, own.signal])
}
