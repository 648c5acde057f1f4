/** After this many conflicts in a row, something other than a race is wrong: one of the racers commits each time. */
const maxConflicts = 100;
/** The same while what was decided about has not changed: then no racer has committed. */
const maxWithoutChange = 4;

/**
 * Decides and commits; if another caller or instance was faster, decides again on what is true then. Throws what `decide` throws, and a
 * conflict that comes again and again.
 *
 * `revision`: that of what was decided about last. As long as others change it, it is decided again: each time, one of them has succeeded.
 */
export async function decideAgain<T>(
  decide: () => Promise<T>,
  isOvertaken: (error: unknown) => boolean,
  revision?: () => number,
): Promise<T> {
  const most = revision === undefined ? maxConflicts : maxWithoutChange;
  let last: number | undefined;
  for (let conflicts = 1; ; conflicts += 1) {
    try {
      return await decide();
    } catch (error) {
      if (revision?.() !== last) conflicts = 1;
      last = revision?.();
      if (!isOvertaken(error) || conflicts >= most) throw error;
    }
  }
}
