import type { StellarNetwork } from '../../core/relayer/network.js';
import { LocalChainError, type SandboxChain } from './sandbox-chain.js';
import { startTestProgram } from './test-program.js';

const program = 'test/local-chains/stellar/main.ts';

/** Who is paid; nobody has their keys. */
const receivers = ['GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT', 'GDL6NS5ZWLQYJWVTY4Y2MKAXGOPI57PMYC564GTASNHAKPDVRFB3GML6'];

/**
 * Starts a local Stellar ledger: a program of the test suite, since no node of the real network can be installed beside this package. A sentence that says why
 * where it is not there.
 *
 * @param ledgerSeconds 0: a ledger closes only when the node is told to
 */
export async function startStellarSandbox(ledgerSeconds: number): Promise<SandboxChain | string> {
  const accounts = receivers.flatMap((receiver) => ['--account', `${receiver}:10`]);
  const ledger = await startTestProgram(program, ['--close-ms', String(ledgerSeconds * 1000), ...accounts]);
  if (ledger === null) {
    return `there is no relayer on Stellar: its local ledger is a part of the tests (${program}) and needs the development dependencies (npm ci)`;
  }
  const [, rpcUrl, passphrase] = /^Listening on (\S+) passphrase="([^"]+)"/.exec(ledger.said) ?? [];
  if (rpcUrl === undefined || passphrase === undefined) throw new LocalChainError(`the local Stellar ledger said ${ledger.said}`);
  const network: StellarNetwork = {
    name: 'sandbox-stellar',
    type: 'stellar',
    passphrase,
    rpcUrls: [{ url: rpcUrl, weight: 100 }],
    requiredConfirmations: 1,
    averageBlockTimeMs: 1000 * (ledgerSeconds || 1),
    symbol: 'XLM',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
  };
  const [first = '', second = ''] = receivers.map((destination, index) => payment(network.name, destination, index + 1));
  return {
    relayerId: 'sandbox-stellar',
    relayerName: 'Sandbox on Stellar',
    network,
    policies: { network: 'stellar', minBalanceStroops: 0n, maxFeeStroops: null },
    told: `started a local Stellar ledger at ${rpcUrl}`,
    commands: () => ({
      networkName: 'Stellar',
      send: first,
      replace: second,
      makeBlock: ledgerSeconds === 0 ? { does: 'close a ledger', command: `curl -s ${rpcUrl}/manualclose` } : null,
    }),
    // It began with this start, as every time.
    isNewTo: async () => true,
    async fund(address) {
      const { ok, status } = await fetch(`${rpcUrl}/friendbot?addr=${address}`);
      if (!ok) throw new LocalChainError(`the local Stellar ledger did not fund ${address}: ${status}`);
    },
    stop: ledger.stop,
  };
}

function payment(network: string, destination: string, lumens: number): string {
  const operation = { type: 'payment', destination, amount: String(lumens * 10_000_000), asset: { type: 'native' } };
  return JSON.stringify({ network, operations: [operation] });
}
