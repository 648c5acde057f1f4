import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { newest } from './chain.js';
import { startSolana } from './start-solana.js';

/*
 * A local Solana by itself:
 *
 *     node --import tsx test/local-chains/solana/main.ts --port 8899 --slot-ms 400 --account <address>:<lamports>
 *
 * `--account` may come several times; `--slot-ms 0` makes blocks only when told. Prints one line when it listens. Told by GET: `/advance`, which makes
 * blocks until what waits is final, and `/expire`, which lets what waits die, as when every packet of it is lost, and then lets land what comes instead.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'slot-ms': { type: 'string', default: '400' },
    'finalized-after': { type: 'string', default: '31' },
    'until-stdin-ends': { type: 'boolean', default: false },
    account: { type: 'string', multiple: true, default: [] },
  },
});

const accounts = values.account.map((text) => {
  const [address = '', lamports = ''] = text.split(':');
  return { address, lamports: BigInt(lamports) };
});
const slotMs = Number(values['slot-ms']);
const finalizedAfterBlocks = Number(values['finalized-after']);
/** No block takes what was sent before these, and the last that could have is final. */
const blocksUntilDead = 150 + 2 + finalizedAfterBlocks;
/** For a service to send what it was told just before. */
const greatestSendingMs = 5_000;
/** For a service to send something else instead of what died. */
const greatestSigningMs = 20_000;
/** For a service to see what became of it. */
const greatestLookingMs = 1_000;
const betweenBlocksMs = 100;

const { chain, url, ...solana } = await startSolana({
  port: Number(values.port),
  accounts,
  finalizedAfterBlocks,
  ...(slotMs === 0 ? {} : { slotMs }),
  commands: { '/advance': advance, '/expire': expire },
});
process.stdout.write(`Listening on ${url}\n`);

async function advance(): Promise<string> {
  chain.advance(1 + finalizedAfterBlocks);
  return `made ${1 + finalizedAfterBlocks} blocks`;
}

async function expire(): Promise<string> {
  if (!(await isSoon(greatestSendingMs, () => chain.pool.waiting().length > 0))) return 'nothing waits';
  chain.pool.losesPackets = true;
  chain.advance(blocksUntilDead);
  chain.pool.drop();
  chain.pool.losesPackets = false;
  const { slot } = chain.tip(newest);
  const isThere = (): boolean => chain.blocksFrom(slot, newest).some(({ landed }) => landed.length > 0);
  // Services look at each block: they go on until one holds something, and then for a while.
  const hasLanded = await isSoon(greatestSigningMs, () => {
    chain.advance();
    return isThere();
  });
  await advance();
  await isSoon(greatestLookingMs, () => {
    chain.advance();
    return false;
  });
  return hasLanded ? 'what was sent has died, and something else has landed' : 'what was sent has died';
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
