/** A metric of the library, which makes one series of it for given labels. */
interface Labelled<Child> {
  labels(...values: string[]): Child;
}

interface Branch<Child> {
  readonly branches: Map<string, Branch<Child>>;
  child: Child | null;
}

/** Finds the series of a metric by the values of its labels, in their order, and makes it the first time: the library makes a new object at each call. */
export function childrenBy<Child>(metric: Labelled<Child>): (...values: string[]) => Child {
  const root: Branch<Child> = { branches: new Map(), child: null };
  return (...values) => {
    let branch = root;
    for (const value of values) {
      let next = branch.branches.get(value);
      if (next === undefined) {
        next = { branches: new Map(), child: null };
        branch.branches.set(value, next);
      }
      branch = next;
    }
    branch.child ??= metric.labels(...values);
    return branch.child;
  };
}
