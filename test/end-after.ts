/** More than any closing takes on a busy machine. */
const openForMs = 60_000;

/**
 * Returns what to call when a file of tests has ended. Once all have, a process that stays open for a minute ends with an error that names
 * what keeps it open: a test that fails before it closes what it opened would otherwise make the whole run wait for ever.
 */
export function endAfter(files: number): () => void {
  let left = files;
  return () => {
    left -= 1;
    if (left > 0) return;
    setTimeout(() => {
      process.stderr.write(`the tests have ended, but something stays open: ${process.getActiveResourcesInfo().join(', ')}\n`);
      process.exit(1);
    }, openForMs).unref();
  };
}
