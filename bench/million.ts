import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Agent } from 'undici';
import type { Attempt, Transaction } from '../src/core/records/transaction.js';
import { openStore } from '../src/storage/open-store.js';
import { startAnvil } from '../test/support/anvil.js';
import { createServiceHome, type ServiceHome } from '../test/support/service.js';
import { anAttempt, aTransaction, silentLog } from '../test/support/stored-samples.js';
import { type Figure, percentile, residentMb, timesOf, untilReady } from './reads.js';
import { startServiceIn } from './servers.js';

const openOnes = 100;
const perCommit = 500;

/**
 * Measures the built service with this number of stored transactions of one relayer, a hundred of them open and too expensive for its account: the time from
 * start to ready, reads by id, list pages, and the memory after them. One caller sends one read after the other. A transaction is two rows.
 */
export async function benchMillion(main: string, stored: number): Promise<readonly Figure[]> {
  const chain = await startAnvil({ blockTime: 1 });
  const home = await createServiceHome({ rpcUrl: chain.url, env: { LOG_LEVEL: 'info' } });
  try {
    await fill(home, stored);
    const began = performance.now();
    const service = await startServiceIn(home, main, []);
    const agent = new Agent({ connections: 1, pipelining: 1 });
    try {
      const base = `http://127.0.0.1:${service.ports[0]}/api/v1`;
      await untilReady(base, agent);
      const readyMs = performance.now() - began;
      const path = `${base}/relayers/${home.relayerId}/transactions`;
      const byIdMs = await timesOf(agent, () => `${path}/${idOf(Math.floor(Math.random() * stored))}`);
      const pageMs = await timesOf(agent, (index) => `${path}?page=${(index % 100) + 1}&per_page=100`);
      const statusPageMs = await timesOf(agent, (index) => `${path}?page=${(index % 100) + 1}&per_page=100&status=confirmed&status=failed`);
      return [
        { what: `start to ready with ${stored} stored`, value: readyMs / 1000, unit: 's', goal: '<= 2' },
        { what: 'GET by id, p99', value: percentile(byIdMs, 0.99), unit: 'ms', goal: '<= 5' },
        { what: 'one of the first 100 list pages of 100, p99', value: percentile(pageMs, 0.99), unit: 'ms', goal: '<= 20' },
        { what: 'the same of two statuses, p99', value: percentile(statusPageMs, 0.99), unit: 'ms', goal: '<= 20' },
        { what: 'memory (RSS) after them', value: residentMb(service.pid), unit: 'MB', goal: '<= 300' },
      ];
    } finally {
      await agent.close();
      await service.stop();
    }
  } finally {
    await home.remove();
    await chain.stop();
  }
}

/** Returns a UUID v7 that contains its number. */
function idOf(index: number): string {
  const time = (1_763_600_000_000 + index).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${index.toString(16).padStart(12, '0')}`;
}

/** Through the store, so that the store itself counts totals and page numbers. */
async function fill(home: ServiceHome, stored: number): Promise<void> {
  const { store } = await openStore(`sqlite:${join(home.dir, 'relayer.db')}`, { log: silentLog });
  const lane = { chain: 'evm:31337', account: home.address };
  for (let from = 0; from < stored; from += perCommit) {
    const changes = Array.from({ length: perCommit }, (_, offset) => from + offset).flatMap((index) => {
      // The open ones wait during the whole measurement: their value is more than the account has.
      const isOpen = index >= stored - openOnes;
      const nonce = BigInt(index);
      const hash = `0x${index.toString(16).padStart(64, '0')}`;
      const attempt: Attempt = { ...anAttempt({ transactionId: idOf(index), nonce, hash }), ...lane };
      const finished: Partial<Transaction> = {
        status: index % 50 === 0 ? 'failed' : 'confirmed',
        nonce,
        liveVersion: 1,
        mined: { version: 1, blockNumber: nonce, blockHash: hash, succeeded: index % 50 !== 0, facts: null },
        sentAtMs: 1_763_600_000_500,
      };
      const content = {
        network: 'evm',
        to: home.address,
        valueWei: 10n ** 30n,
        data: null,
        gasLimit: null,
        pricing: { kind: 'speed', speed: 'fast' },
      } as const;
      const transaction = {
        ...aTransaction({ id: idOf(index), relayerId: home.relayerId, ...(isOpen ? { content } : finished) }),
        ...lane,
      };
      return [store.change.insertTransaction(transaction), ...(isOpen ? [] : [store.change.insertAttempt(attempt)])];
    });
    await store.commit(changes);
  }
  await store.close();
}
