/*
 * A process that a test kills. It opens the store at the URL in its argument, commits one transaction after another, and prints the id of each
 * transaction after its commit.
 */
import { openStore } from '../../src/storage/open-store.js';
import { aTransaction, silentLog } from './stored-samples.js';

// If the test run is killed, this process ends too.
process.stdin.on('end', () => process.exit()).resume();

const { store } = await openStore(process.argv[2] ?? '', { log: silentLog });
for (let number = 1; ; number += 1) {
  const id = `held-${number}`;
  await store.commit([store.change.insertTransaction(aTransaction({ id, relayerId: 'held' }))]);
  process.stdout.write(`${id}\n`);
}
