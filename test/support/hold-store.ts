/*
 * A process to be killed: opens the store at the URL of its argument, and commits one transaction after another, printing the id of each once
 * its commit has resolved.
 */
import { openStore } from '../../src/storage/open-store.js';
import { aTransaction, silentLog } from './stored-samples.js';

// Ends with the test run that started it, should that be killed.
process.stdin.on('end', () => process.exit()).resume();

const { store } = await openStore(process.argv[2] ?? '', { log: silentLog });
for (let number = 1; ; number += 1) {
  const id = `held-${number}`;
  await store.commit([store.change.insertTransaction(aTransaction({ id, relayerId: 'held' }))]);
  process.stdout.write(`${id}\n`);
}
