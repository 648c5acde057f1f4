import { fstatSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startSolana } from './start-solana.js';

/**
 * A local Solana by itself:
 *
 *     node --import tsx test/local-chains/solana/main.ts --port 8899 --slot-ms 400 --fund <address>=<lamports>
 *
 * `--fund` may come several times. Prints one line of JSON when it listens, `{"url":"http://127.0.0.1:8899"}`, and ends with its standard
 * input where that is a pipe (so that it never outlives who started it), or on a signal.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8899' },
    'slot-ms': { type: 'string', default: '400' },
    fund: { type: 'string', multiple: true, default: [] },
  },
});

const accounts = values.fund.map((entry) => {
  const [address = '', lamports = ''] = entry.split('=');
  if (!/^[0-9]{1,19}$/.test(lamports)) throw new Error(`--fund wants <address>=<lamports>, not ${entry}`);
  return { address, lamports: BigInt(lamports) };
});

const solana = await startSolana({ port: Number(values.port), slotMs: Number(values['slot-ms']), accounts });
process.stdout.write(`${JSON.stringify({ url: solana.url })}\n`);

const end = (): void => process.exit(0);
process.once('SIGINT', end);
process.once('SIGTERM', end);
const input = fstatSync(0);
if (input.isFIFO() || input.isSocket()) process.stdin.once('end', end).resume();
