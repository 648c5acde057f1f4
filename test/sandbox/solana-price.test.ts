import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address, type Instruction } from '@solana/kit';
import { buildTransaction, signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { transferOf } from '../../src/sandbox/solana/instructions.js';
import { startSolana } from '../../src/sandbox/solana/start-solana.js';
import type { someBlockhash } from '../support/solana-samples.js';

const payer = await signerOf(1);
const budget = address('ComputeBudget111111111111111111111111111111');

/** An instruction of a verifying program that verifies this many signatures. */
const verifying = (program: string, signatures: number): Instruction => ({
  programAddress: address(program),
  accounts: [],
  data: new Uint8Array([signatures, 0]),
});

function unitPrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(9, 3);
  data.writeBigUInt64LE(microLamports, 1);
  return { programAddress: budget, accounts: [], data: new Uint8Array(data) };
}

/** Fees by the rules of Agave, whose validator was asked about ed25519 and a price that is set twice. */
const fees: Readonly<Record<string, readonly [instructions: readonly Instruction[], lamports: number]>> = {
  'one signature': [[], 5_000],
  'a verified ed25519 signature': [[verifying('Ed25519SigVerify111111111111111111111111111', 1)], 10_000],
  'two verified secp256k1 signatures': [[verifying('KeccakSecp256k11111111111111111111111111111', 2)], 15_000],
  'one verified secp256r1 signature': [[verifying('Secp256r1SigVerify1111111111111111111111111', 1)], 10_000],
  'a price that is set twice, which nodes reject': [[unitPrice(1_000_000n), unitPrice(2_000_000n)], 5_000],
};

describe('local Solana: the fee of a message', () => {
  for (const [name, [instructions, lamports]] of Object.entries(fees))
    it(`${name}: ${lamports} lamports`, async (test) => {
      const solana = await startSolana();
      test.after(() => solana.stop());
      const transfer = transferOf(payer.address, payer.address, 1n);
      const { blockhash } = (await ask(solana.url, 'getLatestBlockhash', [{ commitment: 'processed' }])) as {
        blockhash: typeof someBlockhash;
      };
      const bytes = await buildTransaction({
        payer: payer.address,
        instructions: [...instructions, transfer],
        blockhash,
        signers: [payer],
      });
      const message = Buffer.from(bytes).subarray(65).toString('base64');
      assert.equal(await ask(solana.url, 'getFeeForMessage', [message, { commitment: 'processed' }]), lamports);
    });
});

async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await response.json()) as { result: { value: unknown } }).result.value;
}
