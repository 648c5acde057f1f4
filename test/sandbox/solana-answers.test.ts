import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { startSolana } from '../../src/sandbox/solana/start-solana.js';
import { answersOf, askedAccounts, recordedAnswers } from './solana-questions.js';

it('local Solana: answers as the validator of Agave does, errors included', async (test) => {
  const solana = await startSolana({ accounts: askedAccounts, slotMs: 100, finalizedAfterBlocks: 3, blockhashAgeBlocks: 5_000 });
  test.after(() => solana.stop());
  const recorded: Record<string, unknown> = JSON.parse(await readFile(recordedAnswers, 'utf8'));
  assert.deepEqual(await answersOf(solana.url), recorded);
});
