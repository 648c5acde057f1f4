/**
 * Makes a function that computes each text's value once; it forgets all when it has computed `most` values. A thrown error is not
 * remembered.
 */
export function rememberedByText<V>(most: number, compute: (text: string) => V): (text: string) => V {
  const known = new Map<string, V>();
  return (text) => {
    const value = known.get(text);
    if (value !== undefined) return value;
    if (known.size >= most) known.clear();
    const computed = compute(text);
    known.set(text, computed);
    return computed;
  };
}

/** Makes a function that computes the value of each object once. The objects must not change. */
export function remembered<K extends object, V>(compute: (of: K) => V): (of: K) => V {
  const known = new WeakMap<K, V>();
  return (of) => {
    const value = known.get(of);
    if (value !== undefined) return value;
    const computed = compute(of);
    known.set(of, computed);
    return computed;
  };
}
