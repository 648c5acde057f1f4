import type { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { type PolicyDraft, policyFields, unitOf } from '../model/policies.js';
import { Select, TextArea, TextInput } from '../parts/inputs.js';
import type { Unit } from '../text/amounts.js';

/** The policies of a relayer to edit. */
export function PolicyInputs({
  networkType,
  coin,
  draft,
  onDraft,
  problems,
}: {
  readonly networkType: NetworkType;
  readonly coin: Unit;
  readonly draft: PolicyDraft;
  readonly onDraft: (draft: PolicyDraft) => void;
  readonly problems: Readonly<Record<string, string>>;
}) {
  return (
    <div class="form-row">
      {policyFields(networkType).map((field) => {
        const { name, label, hint, kind } = field;
        const input = {
          hint,
          label: kind === 'coin' || kind === 'gas' ? `${label} in ${unitOf(field, coin).name}` : label,
          value: draft[name] ?? '',
          problem: problems[name],
          onValue: (value: string) => onDraft({ ...draft, [name]: value }),
        };
        if (kind === 'list') return <TextArea key={name} rows={3} {...input} />;
        if (kind !== 'flag') return <TextInput key={name} inputMode={kind === 'count' ? 'numeric' : 'decimal'} {...input} />;
        return (
          <Select
            key={name}
            {...input}
            choices={[
              ['', 'default'],
              ['true', 'true'],
              ['false', 'false'],
            ]}
          />
        );
      })}
    </div>
  );
}
