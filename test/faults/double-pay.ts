import { startRpcProxy } from '../support/rpc-proxy.js';
import { audit } from './audit.js';
import { startMiner } from './miner.js';
import { paymentOf, sendOne } from './payment.js';
import { openRig } from './rig.js';
import type { FaultSuite } from './suite.js';
import { finalStatuses, untilEverythingIsFinal } from './until.js';

const rpcTimeoutMs = 500;

/**
 * One URL keeps every transaction and answers no broadcast in time, another says "insufficient funds" to each, and the caller sends the same
 * again, as callers do that see no result. Each accepted payment is paid once.
 */
export const doublePay: FaultSuite = async (run) => {
  const isBroadcast = ({ method }: { readonly method: string }): boolean => method === 'eth_sendRawTransaction';
  const rig = await openRig(run, {
    requiredConfirmations: 2,
    env: { RPC_TIMEOUT_MS: String(rpcTimeoutMs) },
    async nodesBefore({ url }) {
      const silent = await startRpcProxy({
        target: url,
        outcomeOf: (calls) => (calls.some(isBroadcast) ? { heldForMs: 4 * rpcTimeoutMs } : {}),
      });
      run.atEnd(() => silent.stop());
      const refusing = await startRpcProxy({
        target: url,
        answer: async (call, ask) =>
          isBroadcast(call) ? { error: { code: -32000, message: 'insufficient funds for gas * price + value' } } : ask(call),
      });
      run.atEnd(() => refusing.stop());
      return [silent.url, refusing.url];
    },
  });
  const { anvil, home } = rig;
  const { client } = await rig.start();
  startMiner(run, anvil, run.random.fork('miner'), 800);
  const payments = run.isShort ? 4 : 20;
  const accepted = new Map<bigint, string[]>();
  await Promise.all(
    Array.from({ length: payments }, async (_, index) => {
      const payment = paymentOf(index);
      for (let again = run.random.between(0, 2); again >= 0; again--) {
        const { id } = await sendOne(client, payment);
        accepted.set(BigInt(payment.value), [...(accepted.get(BigInt(payment.value)) ?? []), id]);
      }
    }),
  );
  const records = await untilEverythingIsFinal(run, client, run.isShort ? 90_000 : 300_000);
  const ended = new Set(records.filter(({ status }) => finalStatuses.includes(status)).map(({ id }) => id));
  const ledger = await audit(run, { anvil, account: home.address, client });
  for (const [value, ids] of accepted) {
    const found = ledger.transactions.filter((transaction) => transaction.value === value);
    if (found.length > ids.length)
      run.violation('PAID TWICE: blocks contain more payments than the service accepted requests', { value, ids, found });
    if (found.length < ids.length && ids.every((id) => ended.has(id)))
      run.violation('LOST: blocks contain fewer payments than the service accepted requests', { value, ids, found });
  }
  const requests = [...accepted.values()].reduce((sum, ids) => sum + ids.length, 0);
  return { payments, requests, 'on chain': ledger.transactions.length };
};
