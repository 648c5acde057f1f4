import asyncHooks from 'node:async_hooks';

/*
 * Node's test runner follows every asynchronous operation, to know which test it belongs to. That takes a quarter of the processor time. It needs this only
 * while the files of tests are loaded, to put each test into its suite. Later, an error that no test awaits still fails the run, but not that test.
 */

const hooks: asyncHooks.AsyncHook[] = [];
const { createHook } = asyncHooks;

/** Lets the test runner follow operations until `stopFollowing`. To be called before `node:test` is imported. */
export function followWhileLoading(): void {
  asyncHooks.createHook = ({ init }) => {
    // Without `destroy`, which costs most.
    const hook = createHook(init === undefined ? {} : { init });
    hooks.push(hook);
    return hook;
  };
}

/** To be called when all files of tests are loaded. */
export function stopFollowing(): void {
  for (const hook of hooks) hook.disable();
}
