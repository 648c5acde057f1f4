import assert from 'node:assert/strict';
import { it } from 'node:test';
import { getOption } from '@bufbuild/protobuf';
import { Retry, reason as reasonOption } from '../../../gen/relayer/rest/v1/options_pb.js';
import { ErrorReasonSchema } from '../../../gen/relayer/v1/errors_pb.js';
import { invalidFields, type ReasonRules, reasonRules } from '../../../src/core/errors/errors.js';

it('invalidFields: names the first three problems, and carries at most 40', () => {
  const fields = Array.from({ length: 50 }, (_, index) => ({ field: `list[${index}]`, description: 'is wrong' }));
  const error = invalidFields(fields);
  assert.equal(error.message, 'list[0] is wrong; list[1] is wrong; list[2] is wrong; and 47 more');
  assert.deepEqual(error.fields, fields.slice(0, 40));
  assert.equal(invalidFields(fields.slice(0, 2)).message, 'list[0] is wrong; list[1] is wrong');
});

it('reasonRules: equal the values of ErrorReason and their options, and each declares whether a retry can help', () => {
  const declared = ErrorReasonSchema.values
    .filter(({ number }) => number !== 0)
    .map((value) => {
      const { retry, metadata, optionalMetadata, resource } = getOption(value, reasonOption);
      return [
        value.name.replace('ERROR_REASON_', ''),
        { retry: Retry[retry].toLowerCase(), metadata, optional: optionalMetadata, resource },
      ];
    });
  const rules = Object.entries(reasonRules).map(([name, rule]: [string, ReasonRules]) => {
    const { retry, metadata = [], optional = [], resource = '' } = rule;
    return [name, { retry, metadata, optional, resource }];
  });
  assert.deepEqual(Object.fromEntries(declared), Object.fromEntries(rules));
});
