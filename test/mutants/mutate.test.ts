import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mutantsOf } from './mutate.js';

describe('mutants of a module', () => {
  const cases: readonly [text: string, kind: string, ...mutated: string[]][] = [
    ['a < b;', 'comparison', 'a <= b;'],
    ['a === b;', 'comparison', 'a !== b;'],
    ['a + b;', 'arithmetic', 'a - b;'],
    ['a && b;', 'condition', 'a;', 'b;'],
    ['f(7);', 'off by one', 'f(8);'],
    ['f(7n);', 'off by one', 'f(8n);'],
    ['f(true);', 'flag', 'f(false);'],
    ['if (a) b;', 'guard', 'if (false) b;', 'if (true) b;'],
    ['a ? b : c;', 'branches', 'a ? c : b;'],
    ['x = await f();', 'await', 'x = (f());'],
    ['throw a;', 'throw', ';'],
    ['try { a } catch (e) { f(e) }', 'swallowed error', 'try { a } catch (e) { }'],
    ['paid += 1;', 'statement', ';'],
    ['x.y.take(a);', 'statement', ';'],
    ['({ a, ...b, c: 1 });', 'field', '({ ...b, c: 1 });', '({ a, c: 1 });', '({ a, ...b,  });'],
    ['x = a.sort(f).map(g);', 'sort', 'x = a.map(g);'],
    ['x = a.filter(f);', 'filter', 'x = a;'],
  ];
  for (const [text, kind, ...mutated] of cases) {
    it(`changes the ${kind} of ${text}`, () => {
      const mutants = mutantsOf(text).filter((mutant) => mutant.kind === kind);
      assert.deepEqual(
        mutants.map(({ start, end, replacement }) => text.slice(0, start) + replacement + text.slice(end)),
        mutated,
      );
    });
  }

  it('leaves sentences and logs as they are', () => {
    assert.deepEqual(mutantsOf("`a` + 'b'; log.info(a); lane.deps.log.warn(b); telemetry.count(b);"), []);
  });
});
