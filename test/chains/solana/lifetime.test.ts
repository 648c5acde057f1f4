import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getBase58Decoder } from '@solana/kit';
import type { CallOptions } from '../../../src/chains/rpc/call-router.js';
import type { RpcCall } from '../../../src/chains/rpc/json-rpc.js';
import type { Rpc } from '../../../src/chains/rpc/rpc.js';
import { createLifetimes } from '../../../src/chains/solana/lifetime.js';
import type { Positions } from '../../../src/chains/solana/positions.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { createBlockMemory } from '../../../src/core/work/block-memory.js';

const hashOf = (byte: number): string => getBase58Decoder().decode(new Uint8Array(32).fill(byte));
const [real, older, fake] = [hashOf(1), hashOf(2), hashOf(3)] as const;

/** What an endpoint names as the newest blockhash, and which ones it knows. */
interface Node {
  readonly newest: string;
  readonly knows: readonly string[] | 'all' | 'none';
}

const honest: Node = { newest: real, knows: [real, older] };
const behind: Node = { newest: older, knows: [older] };

/** Lifetimes on these endpoints, of which the first reports the head; null: it is down. */
function lifetimesOn(nodes: readonly (Node | null)[]) {
  const asked: string[] = [];
  let nowMs = 0;

  function answerOf({ newest, knows }: Node, { method, params }: RpcCall<unknown>): unknown {
    if (method === 'getLatestBlockhash') return { context: { slot: 100 }, value: { blockhash: newest, lastValidBlockHeight: 200 } };
    const [blockhash] = params as readonly [string];
    return { context: { slot: 100 }, value: knows === 'all' || (knows !== 'none' && knows.includes(blockhash)) };
  }

  async function ask<T>(call: RpcCall<T>, { first = 'head', answeredBy }: CallOptions = {}): Promise<T> {
    const left = typeof first === 'object' && 'otherThan' in first ? first.otherThan : new Set<number>();
    for (const [place, node] of nodes.entries()) {
      if (node === null || left.has(place)) continue;
      answeredBy?.add(place);
      asked.push(`${place} ${call.method}`);
      return call.read(answerOf(node, call), null);
    }
    throw new DomainError('unavailable', 'NODE_UNAVAILABLE', 'none answers');
  }

  const endpoints = () => nodes.map((node, at) => ({ host: `${at}`, weight: 1, state: node === null ? 'failing' : 'in_use' }));
  const rpc = { ask, endpoints } as never as Rpc;
  const positions = { confirmed: async () => ({ slot: 100n, height: 90n }), isSane: () => true } as never as Positions;
  const memory = createBlockMemory(60_000, () => nowMs);
  const lifetimes = createLifetimes(rpc, memory, positions, { nowMs: () => nowMs, elapsedMs: () => nowMs });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { lifetimes, asked, pass };
}

describe('the blockhash of a new attempt', () => {
  const liars: Readonly<Record<string, Node>> = {
    'knows every blockhash': { newest: fake, knows: 'all' },
    'knows what others know': { newest: fake, knows: [real, older] },
    'knows no blockhash': { newest: fake, knows: 'none' },
  };
  for (const [what, liar] of Object.entries(liars)) {
    for (const place of [0, 1, 2]) {
      it(`lifetimes: endpoint ${place} of three, which makes up a blockhash and ${what}, decides nothing`, async () => {
        const nodes = [honest, honest, honest].with(place, liar);
        assert.equal((await lifetimesOn(nodes).lifetimes.fresh()).blockhash, real);
      });
    }
    // Without a third endpoint, nothing shows which of two is right that each deny what the other one knows.
    if (liar.knows === 'none') continue;
    for (const place of [0, 1]) {
      it(`lifetimes: endpoint ${place} of two, which makes up a blockhash and ${what}, decides nothing`, async () => {
        const nodes = [honest, honest].with(place, liar);
        assert.equal((await lifetimesOn(nodes).lifetimes.fresh()).blockhash, real);
      });
    }
  }

  it('lifetimes: costs one question more, once for each head', async () => {
    const { lifetimes, asked } = lifetimesOn([honest, honest, honest]);
    await Promise.all([lifetimes.fresh(), lifetimes.fresh()]);
    await lifetimes.fresh();
    assert.deepEqual(asked, ['0 getLatestBlockhash', '1 isBlockhashValid']);
  });

  it('lifetimes: asks no endpoint that is not in use', async () => {
    const { lifetimes, asked } = lifetimesOn([honest, null]);
    assert.equal((await lifetimes.fresh()).blockhash, real);
    assert.deepEqual(asked, ['0 getLatestBlockhash']);
  });

  it('lifetimes: takes the blockhash of an endpoint that is behind, which both know', async () => {
    assert.equal((await lifetimesOn([honest, behind]).lifetimes.fresh()).blockhash, older);
  });
});

describe('a blockhash that others chose', () => {
  const denying: Node = { newest: real, knows: 'none' };
  const claiming: Node = { newest: real, knows: 'all' };

  /** Asks for a lifetime, and again after nodes have denied it for long. */
  async function givenTwice(nodes: readonly Node[], blockhash: string) {
    const { lifetimes, pass } = lifetimesOn(nodes);
    await lifetimes.given(blockhash);
    pass(11_000);
    return lifetimes.given(blockhash);
  }

  it('lifetimes: ends a transaction if two of three endpoints deny its blockhash', async () => {
    for (const nodes of [
      [honest, claiming, honest],
      [honest, honest, claiming],
    ]) {
      const given = await givenTwice(nodes, fake);
      assert.ok(
        'refused' in given && given.lasting,
        JSON.stringify(given, (_, one) => (typeof one === 'bigint' ? `${one}` : one)),
      );
    }
  });

  it('lifetimes: ends no transaction because one of three endpoints denies its blockhash', async () => {
    for (const nodes of [
      [denying, honest, honest],
      [honest, denying, denying],
    ])
      assert.ok(!('refused' in (await givenTwice(nodes, real))));
  });
});
