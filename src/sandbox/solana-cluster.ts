import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { newest } from './solana/chain.js';
import { startSolana } from './solana/start-solana.js';

/*
 * A local Solana as a program:
 *
 *     npm run build && node dist/program/solana-cluster.js --port 8899 --slot-ms 400 --account <address>:<lamports>
 *
 * `--account` can be repeated; `--slot-ms 0` makes blocks only on command; `--second-node` starts another node of the cluster. Prints one
 * line with its URLs when it listens. Commands by GET to the first: `/advance` makes blocks until pending transactions are final, and
 * `/expire` drops pending transactions until they expire, then lands their replacements.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'slot-ms': { type: 'string', default: '400' },
    'finalized-after': { type: 'string', default: '31' },
    'until-stdin-ends': { type: 'boolean', default: false },
    'second-node': { type: 'boolean', default: false },
    account: { type: 'string', multiple: true, default: [] },
  },
});

const accounts = values.account.map((text) => {
  const [address = '', lamports = ''] = text.split(':');
  return { address, lamports: BigInt(lamports) };
});
const slotMs = Number(values['slot-ms']);
const finalizedAfterBlocks = Number(values['finalized-after']);
/** After this many blocks, transactions sent before have expired and the last block that could include them is final. */
const blocksUntilDead = 150 + 2 + finalizedAfterBlocks;
/** How long a service may take to send a new transaction. */
const maxSendingMs = 5_000;
/** How long a service may take to replace an expired transaction. */
const maxSigningMs = 20_000;
/** How long a service may take to see the outcome. */
const maxLookingMs = 1_000;
const betweenBlocksMs = 100;

const { chain, url, ...solana } = await startSolana({
  port: Number(values.port),
  accounts,
  finalizedAfterBlocks,
  ...(slotMs === 0 ? {} : { slotMs }),
  commands: { '/advance': advance, '/expire': expire },
});
const urls = [url, ...(values['second-node'] ? [(await solana.addNode()).url] : [])];
process.stdout.write(`Listening on ${urls.join(' ')}\n`);

async function advance(): Promise<string> {
  chain.advance(1 + finalizedAfterBlocks);
  return `made ${1 + finalizedAfterBlocks} blocks`;
}

async function expire(): Promise<string> {
  if (!(await isSoon(maxSendingMs, () => chain.pool.waiting().length > 0))) return 'no transaction is pending';
  chain.pool.losesPackets = true;
  chain.advance(blocksUntilDead);
  chain.pool.drop();
  chain.pool.losesPackets = false;
  const { slot } = chain.tip(newest);
  const isThere = (): boolean => chain.blocksFrom(slot, newest).some(({ landed }) => landed.length > 0);
  // Services read each block: makes blocks until one contains a transaction, and then for a while.
  const hasLanded = await isSoon(maxSigningMs, () => {
    chain.advance();
    return isThere();
  });
  await advance();
  await isSoon(maxLookingMs, () => {
    chain.advance();
    return false;
  });
  return hasLanded ? 'the pending transactions have expired, and another one has landed' : 'the pending transactions have expired';
}

async function isSoon(withinMs: number, look: () => boolean): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (!look()) {
    if (Date.now() > deadline) return false;
    await delay(betweenBlocksMs);
  }
  return true;
}

const end = async (): Promise<void> => {
  await solana.stop();
  process.exit(0);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end());
if (values['until-stdin-ends']) {
  process.stdin.resume();
  await once(process.stdin, 'close');
  await end();
}
