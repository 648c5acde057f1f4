import type { StellarNetwork } from '../core/records/network.js';
import { defaultPolicies } from '../core/records/relayer.js';
import { startChainProgram } from './chain-program.js';
import { localNetwork, type SandboxChain } from './sandbox-chain.js';

const program = new URL('./stellar-ledger.js', import.meta.url);

/** Receivers without known keys. */
const receivers = ['GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT', 'GDL6NS5ZWLQYJWVTY4Y2MKAXGOPI57PMYC564GTASNHAKPDVRFB3GML6'];

/**
 * Starts a local Stellar ledger: a program beside this one, since no npm package contains a real node.
 *
 * @param ledgerSeconds 0: the node closes a ledger only on command
 */
export async function startStellarSandbox(ledgerSeconds: number): Promise<SandboxChain> {
  const accounts = receivers.flatMap((receiver) => ['--account', `${receiver}:10`]);
  const ledger = await startChainProgram(program, ['--close-ms', String(ledgerSeconds * 1000), ...accounts]);
  const [, rpcUrl, passphrase] = /^Listening on (\S+) passphrase="([^"]+)"/.exec(ledger.firstLine) ?? [];
  if (rpcUrl === undefined || passphrase === undefined)
    throw new Error(`the local Stellar ledger printed an unexpected line: ${ledger.firstLine}`);
  const network: StellarNetwork = {
    name: 'sandbox-stellar',
    type: 'stellar',
    passphrase,
    rpcUrls: [{ url: rpcUrl, weight: 100 }],
    averageBlockTimeMs: 1000 * (ledgerSeconds || 1),
    symbol: 'XLM',
    ...localNetwork,
  };
  const [first = '', second = ''] = receivers.map((destination, index) => payment(network.name, destination, index + 1));
  return {
    relayerId: 'sandbox-stellar',
    relayerName: 'Sandbox on Stellar',
    network,
    policies: { ...defaultPolicies.stellar, minBalanceStroops: 0n },
    startMessage: `started a local Stellar ledger at ${rpcUrl}`,
    commands: () => ({
      networkName: 'Stellar',
      send: first,
      replace: second,
      makeBlock: ledgerSeconds === 0 ? { title: 'close a ledger', command: `curl -s ${rpcUrl}/manualclose` } : null,
    }),
    // Each start begins a new chain.
    isNewTo: async () => true,
    async fund(address) {
      const { ok, status } = await fetch(`${rpcUrl}/friendbot?addr=${address}`);
      if (!ok) throw new Error(`the local Stellar ledger did not fund ${address}: HTTP ${status}`);
    },
    stop: ledger.stop,
  };
}

function payment(network: string, destination: string, lumens: number): string {
  const operation = { type: 'payment', destination, amount: String(lumens * 10_000_000), asset: { type: 'native' } };
  return JSON.stringify({ network, operations: [operation] });
}
