import { type DescEnumValue, getOption } from '@bufbuild/protobuf';
import { comments } from '../../gen/comments.js';
import { Retry, reason as reasonOption } from '../../gen/relayer/rest/v1/options_pb.js';
import { ErrorReasonSchema } from '../../gen/relayer/v1/errors_pb.js';
import { withTable } from './page-table.js';

const retries: Readonly<Record<Retry, string>> = {
  [Retry.UNSPECIFIED]: '',
  [Retry.NEVER]: 'no',
  [Retry.AFTER_CHANGE]: 'after a change',
  [Retry.AFTER_DELAY]: 'yes, after the delay',
};

const reasons = ErrorReasonSchema.values.filter(({ number }) => number !== 0);

/** Returns the page with a new table of reasons, from the options and comments of `ErrorReason`. */
export function withReasonsTable(page: string): string {
  const rows = reasons.map((value) => {
    const { retry, metadata } = rulesOf(value);
    const name = value.name.replace('ERROR_REASON_', '');
    return `| \`${name}\` | ${comments[`${ErrorReasonSchema.typeName}.${value.name}`] ?? ''} | ${retry} | ${metadata} |`;
  });
  return withTable(page, 'reasons', ['| Reason | Meaning | Retry | Metadata |', '|---|---|---|---|', ...rows]);
}

/** The definition for clients, which has no options of ours, with the rules of each reason as the end of its comment. */
export function withReasonRules(proto: string): string {
  return reasons.reduce((text, value) => {
    const { retry, metadata } = rulesOf(value);
    const line = `  ${value.name} = ${value.number};`;
    return text.replace(line, `  // Retry: ${retry}.${metadata === '' ? '' : ` Metadata: ${metadata}.`}\n${line}`);
  }, proto);
}

function rulesOf(value: DescEnumValue): { readonly retry: string; readonly metadata: string } {
  const { retry, metadata, optionalMetadata } = getOption(value, reasonOption);
  const keys = [...metadata.map((key) => `\`${key}\``), ...optionalMetadata.map((key) => `(\`${key}\`)`)];
  return { retry: retries[retry], metadata: keys.join(', ') };
}
