import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallOptions } from '../../../src/chains/rpc/call-router.js';
import type { Rpc } from '../../../src/chains/rpc/rpc.js';
import { askTwo, inUse, withSecondWord } from '../../../src/chains/rpc/second-word.js';
import { DomainError } from '../../../src/core/errors/errors.js';

const unavailable = new DomainError('unavailable', 'NODE_UNAVAILABLE', 'no RPC node is reachable');

type States = readonly ('in_use' | 'standby')[];
const rpcOf = (states: States) => ({ endpoints: () => states.map((state) => ({ state })) }) as unknown as Pick<Rpc, 'endpoints'>;

/** Endpoints that answer so in the order in which they are asked, and whom each question was for. */
function asker(answers: readonly (string | Error)[]) {
  const asked: string[] = [];
  const ask = async ({ first, answeredBy }: CallOptions): Promise<string> => {
    const place = asked.length;
    asked.push(typeof first === 'object' && 'otherThan' in first ? `other than ${[...first.otherThan].join()}` : String(first));
    const answer = answers[place] ?? assert.fail('nothing more to ask');
    if (answer instanceof Error) throw answer;
    answeredBy?.add(place);
    return answer;
  };
  return { ask, asked };
}

describe('a second word', () => {
  const one: States = ['in_use'];
  const two: States = ['in_use', 'in_use', 'standby'];
  const three: States = ['in_use', 'in_use', 'in_use'];
  for (const [states, answers, expected, asked] of [
    [three, ['runs'], ['runs', false], ['head']],
    [three, ['ends', 'ends'], ['ends', false], ['head', 'other than 0']],
    [one, ['ends', 'ends'], ['ends', false], ['head', 'other than 0']],
    [two, ['ends', 'runs'], ['runs', false], ['head', 'other than 0']],
    [three, ['ends', 'runs', 'ends'], ['ends', false], ['head', 'other than 0', 'other than 0,1']],
    [three, ['ends', 'runs', unavailable], ['runs', false], ['head', 'other than 0', 'other than 0,1']],
    [three, ['ends', unavailable], ['ends', true], ['head', 'other than 0']],
    [one, ['ends', unavailable], ['ends', true], ['head', 'other than 0']],
  ] as const)
    it(`a second word: of ${states.length} endpoints that say ${answers.map(String).join(', ')}`, async () => {
      const questions = asker(answers);
      const { answer, isDoubted } = await withSecondWord(rpcOf(states), questions.ask, (word) => word === 'ends');
      assert.deepEqual([[answer, isDoubted], questions.asked], [expected, asked]);
    });

  it('a second word: without a first one there is none, and a bug is thrown', async () => {
    await assert.rejects(
      withSecondWord(rpcOf(two), asker([unavailable]).ask, () => true),
      unavailable,
    );
    const bug = new TypeError('a bug');
    await assert.rejects(
      withSecondWord(rpcOf(two), asker(['ends', bug]).ask, () => true),
      bug,
    );
  });

  it('two words: are asked for at once if another endpoint is in use', async () => {
    assert.equal(inUse(rpcOf(['in_use', 'standby', 'in_use'])), 2);
    for (const [states, answers, first, second, asked] of [
      [['in_use', 'standby'], ['a'], 'a', [], ['head']],
      [two, ['a', 'b'], 'a', ['b'], ['head', 'another']],
      [two, ['a', unavailable], 'a', [], ['head', 'another']],
      [two, [unavailable, 'b'], 'b', [], ['head', 'another']],
    ] as const) {
      const questions = asker(answers);
      const words = await askTwo(rpcOf(states), questions.ask);
      assert.deepEqual([words.first, words.second, questions.asked], [first, second, asked]);
    }
    await assert.rejects(askTwo(rpcOf(two), asker([unavailable, unavailable]).ask), unavailable);
  });

  it('two words: a third one is asked for only if one more is in use, and one more in any case', async () => {
    for (const [states, isAsked] of [
      [two, false],
      [three, true],
    ] as const) {
      const questions = asker(['a', 'b', 'c', 'd']);
      const words = await askTwo(rpcOf(states), questions.ask);
      assert.deepEqual(await words.third(), isAsked ? ['c'] : []);
      assert.deepEqual(await words.more(), [isAsked ? 'd' : 'c']);
      assert.equal(questions.asked.at(-1), 'other than 0,1');
    }
  });

  it('two words: of an endpoint that gave both answers, one counts', async () => {
    const ask = async ({ answeredBy }: CallOptions): Promise<string> => {
      answeredBy?.add(1);
      return 'a';
    };
    const { first, second } = await askTwo(rpcOf(two), ask);
    assert.deepEqual([first, second], ['a', []]);
  });
});
