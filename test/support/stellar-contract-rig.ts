import { Keypair } from '@stellar/stellar-sdk';
import { createStellarChain, type StellarChain } from '../../src/chains/stellar/stellar-chain.js';
import type { ChainRig } from '../contracts/chain.contract.js';
import { startStellar } from '../local-chains/stellar/server.js';
import { rememberingLog } from './evm.js';
import { payment, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from './stellar.js';

/** 1,000 XLM. */
const fundsStroops = 10_000_000_000n;

/** A ledger of its own, and a node before it. */
export async function openStellarRig(): Promise<ChainRig> {
  const { signer, address } = stellarKey();
  const receiver = Keypair.random().publicKey();
  const node = await startStellar({ accounts: { [address]: fundsStroops, [receiver]: fundsStroops } });
  const { ledger } = node;
  const opened: StellarChain[] = [];
  function open(passphrase: string): StellarChain {
    const network = stellarNetwork({ passphrase, averageBlockTimeMs: 400 });
    const chain = createStellarChain({ network, rpcUrls: [{ url: node.url, weight: 1 }], rpcTimeoutMs: 5_000, log: rememberingLog() });
    opened.push(chain);
    return chain;
  }
  return {
    chain: open(ledger.passphrase),
    relayer: stellarRelayer(address),
    signer,
    requestOf: (amount) => stellarRequest({ operations: [payment(receiver, amount)] }),
    tooMuch: fundsStroops + 1n,
    showsPool: false,
    // Nobody has this account.
    failingRequest: async () => stellarRequest({ operations: [payment(Keypair.random().publicKey(), 1n)] }),
    received: async () => ledger.latest().state.accounts.get(receiver)?.balanceStroops ?? 0n,
    settle: async () => void ledger.close(),
    dropPending: async () => ledger.forget(),
    setDown: (isDown) => node.setOutcome(isDown ? () => ({ refusedWith: 503 }) : null),
    expectingAnother: () => open('another network'),
    async close() {
      await Promise.all(opened.map((chain) => chain.close()));
      await node.stop();
    },
  };
}
