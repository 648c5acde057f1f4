import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { startSolana } from '../../src/sandbox/solana/start-solana.js';
import { answersOf, askedAccounts, ofOtherBuilds, recordedAnswers } from './solana-questions.js';

it('local Solana: answers as the validator of Agave does, errors included', async (test) => {
  const solana = await startSolana({ accounts: askedAccounts, slotMs: 100, finalizedAfterBlocks: 3, blockhashAgeBlocks: 5_000 });
  test.after(() => solana.stop());
  const recorded: Record<string, unknown> = JSON.parse(await readFile(recordedAnswers, 'utf8'));
  const answers = await answersOf(solana.url);
  assert.ok(Object.keys(recorded).length >= 35);
  const compared = Object.keys(recorded).filter((what) => !ofOtherBuilds.test(what));
  assert.deepEqual(Object.keys(answers).sort(), Object.keys(recorded).sort());
  for (const what of compared) assert.deepEqual(answers[what], recorded[what], what);
});
