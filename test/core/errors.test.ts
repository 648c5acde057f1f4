import assert from 'node:assert/strict';
import { it } from 'node:test';
import { invalidFields } from '../../src/core/errors.js';

it('invalidFields: names the first three problems, and carries at most twenty', () => {
  const fields = Array.from({ length: 30 }, (_, index) => ({ field: `list[${index}]`, description: 'is wrong' }));
  const error = invalidFields(fields);
  assert.equal(error.message, 'list[0] is wrong; list[1] is wrong; list[2] is wrong; and 27 more');
  assert.deepEqual(error.fields, fields.slice(0, 20));
  assert.equal(invalidFields(fields.slice(0, 2)).message, 'list[0] is wrong; list[1] is wrong');
});
