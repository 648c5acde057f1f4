import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import type { NodeDialect, RpcCall } from '../../src/chains/rpc/json-rpc.js';
import type { Question } from '../../src/chains/rpc/question.js';
import { createRpc, type Rpc } from '../../src/chains/rpc/rpc.js';
import type { SolanaNetwork, StellarNetwork } from '../../src/core/records/network.js';
import { rememberingLog } from './evm.js';
import { type AskedRequest, answering, type FakeAnswer, FakeError, startFakeNode } from './fake-node.js';

const oddities: Readonly<Record<string, unknown>> = {
  'unknown words': new FakeError(-39_999, 'the moon is in the wrong house'),
  'words with the code of a wrong request': new FakeError(-32_602, 'the moon is in the wrong house'),
  'no such method': new FakeError(-32_601, 'Method not found'),
  'an internal error': new FakeError(-32_603, 'Internal error'),
  null: null,
  'an object of another shape': { wrong: true },
  'a negative number': -1,
  'a list of another shape': [{ wrong: true }],
};

/** A client for nodes that answer these. It is closed with the test. */
export type RpcOf = (test: TestContext, ...nodes: readonly ((request: AskedRequest) => FakeAnswer)[]) => Promise<Rpc>;

/** Makes clients of a network. */
export function rpcMaker(network: SolanaNetwork | StellarNetwork, dialect: NodeDialect): RpcOf {
  return async (test, ...nodes) => {
    const started = await Promise.all(nodes.map((node) => startFakeNode(test, node)));
    const rpcUrls = started.map(({ url }, index) => ({ url, weight: 100 - index }));
    const rpc = createRpc({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, dialect);
    test.after(() => rpc.close());
    return rpc;
  };
}

/** What a test needs of a table of questions. */
export interface QuestionTable<Name extends string> {
  readonly questions: Readonly<Record<Name, Pick<Question<never, unknown>, 'entry'>>>;
  /** A call of every question, and a result that an honest node gives. */
  readonly samples: Readonly<Record<Name, readonly [RpcCall<unknown>, unknown]>>;
  readonly rpcOf: RpcOf;
  /** What a node answers beside the sample. */
  readonly others?: (method: string) => unknown;
}

/** Declares the tests that hold for the table of each network. */
export function questionTests<Name extends string>({ questions, samples, rpcOf, others = () => undefined }: QuestionTable<Name>): void {
  for (const [name, [asked, good]] of Object.entries<readonly [RpcCall<unknown>, unknown]>(samples)) {
    it(`${name}: an odd answer of one endpoint is never the answer`, async (test) => {
      const answers = (result: unknown) => (request: AskedRequest) =>
        answering(request, ({ method }) => (method === asked.method ? result : others(method)));
      const honest = await rpcOf(test, answers(good));
      const expected = await honest.ask(asked, { first: 'head' });
      for (const [oddity, answer] of Object.entries(oddities)) {
        const both = await rpcOf(test, answers(answer === null ? undefined : answer), answers(good));
        assert.equal(inspect(await both.ask(asked, { first: 'head' })), inspect(expected), `${name}: ${oddity}`);
      }
    });
  }

  it('each says what happens without an answer', () => {
    for (const [name, { entry }] of Object.entries<Pick<Question<never, unknown>, 'entry'>>(questions))
      assert.ok(entry.fallback.length > 10, name);
  });
}
