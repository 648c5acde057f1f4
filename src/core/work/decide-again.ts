/** After this many conflicts in a row, something other than a race is wrong: one of the racers commits each time. */
const maxConflicts = 100;

/**
 * Decides and commits; if another caller or instance was faster, decides again on what is true then. Throws what `decide` throws, and a
 * conflict that comes again and again.
 */
export async function decideAgain<T>(decide: () => Promise<T>, isOvertaken: (error: unknown) => boolean): Promise<T> {
  for (let conflicts = 1; ; conflicts += 1) {
    try {
      return await decide();
    } catch (error) {
      if (!isOvertaken(error) || conflicts >= maxConflicts) throw error;
    }
  }
}
