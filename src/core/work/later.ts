/** A promise that others resolve. */
export interface Later<T> {
  readonly promise: Promise<T>;
  /** Only the first call counts. */
  resolve(value: T): void;
}

/** Makes a promise that others resolve: Node.js 20 has no `Promise.withResolvers`. */
export function later<T>(): Later<T> {
  let resolve: Later<T>['resolve'] = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
