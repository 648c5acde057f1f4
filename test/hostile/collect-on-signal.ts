import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Loaded into the service under attack: on SIGUSR2 it collects its garbage, and says what it still holds. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('SIGUSR2', () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ level: 'info', heldBytes: heapUsed + external, msg: 'collected' })}\n`);
});
