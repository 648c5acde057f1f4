import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTurns } from '../../../src/core/work/turns.js';

const nameOf = (name: string): string => name;

it('turns: each one has its turn before any has a second one, and everyone at each time if all fit', () => {
  const turns = createTurns(2);
  const next = (items: string): string => turns.next([...items], nameOf).join('');
  assert.deepEqual([next('abcde'), next('abcde'), next('abcde'), next('abcde')], ['ab', 'cd', 'ea', 'bc']);
  assert.deepEqual([next('xy'), next('xy'), next('y'), next('')], ['xy', 'xy', 'y', '']);
});

it('turns: who comes and goes delays no other', () => {
  const turns = createTurns(2);
  const next = (items: string): string => turns.next([...items], nameOf).join('');
  assert.equal(next('abcd'), 'ab');
  assert.equal(next('bnd'), 'nd');
  assert.deepEqual([next('abcdn'), next('abcdn'), next('abcdn')], ['ab', 'cd', 'na']);
});
