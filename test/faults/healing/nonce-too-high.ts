import { Transaction } from 'ethers';
import { startRpcProxy } from '../../support/rpc-proxy.js';
import { audit } from '../audit.js';
import { startMiner } from '../miner.js';
import { numbersFrom, sendAll } from '../payment.js';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { untilEverythingIsFinal } from '../until.js';

const nonceTooHighError = { error: { code: -32000, message: 'nonce too high' } } as const;

/** A node that keeps no gaps: it accepts only the next nonce, refuses that one too for a while, and sometimes answers "nonce too high" to the right one. */
export const nonceTooHigh: FaultSuite = async (run) => {
  const random = run.random.fork('node');
  let full = 6;
  let refused = 0;
  const { anvil, home, start } = await openRig(run, {
    requiredConfirmations: 2,
    async nodesBefore({ url }) {
      const proxy = await startRpcProxy({
        target: url,
        async answer(call, ask) {
          if (call.method !== 'eth_sendRawTransaction') return ask(call);
          const { nonce, from } = Transaction.from(String(call.params[0]));
          const pending = await ask({ method: 'eth_getTransactionCount', params: [from, 'pending'] });
          const isNext = 'result' in pending && nonce <= Number(pending.result);
          if (isNext && full > 0) {
            full -= 1;
            return { error: { code: -32000, message: 'txpool is full' } };
          }
          if (isNext && !random.chance(0.2)) return ask(call);
          refused += 1;
          return nonceTooHighError;
        },
      });
      run.atEnd(() => proxy.stop());
      return [proxy.url];
    },
  });
  const { client } = await start();
  startMiner(run, anvil, run.random.fork('miner'), 600);
  const records = await sendAll(client, numbersFrom(0, 20));
  await untilEverythingIsFinal(run, client, 60_000);
  if (refused === 0) run.violation('the node never rejected a nonce, so the suite tested nothing');
  const ledger = await audit(run, { anvil, account: home.address, client });
  return { sends: records.length, 'nonce too high': refused, 'on chain': ledger.transactions.length };
};
