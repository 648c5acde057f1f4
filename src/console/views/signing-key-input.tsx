import { Button } from '../parts/button.js';
import { TextInput } from '../parts/inputs.js';
import { newSigningKey } from '../service/random-keys.js';

/** The key that signs deliveries: a new random one, one that the operator has, or none. */
export function SigningKeyInput({
  value,
  problem,
  onValue,
}: {
  readonly value: string;
  readonly problem: string | undefined;
  readonly onValue: (value: string) => void;
}) {
  return (
    <>
      <TextInput
        label="Signing key"
        hint={
          value === ''
            ? 'Empty: deliveries are not signed, and the receiver cannot know who sent them.'
            : 'The receiver verifies deliveries with it. This one was made at random in your browser; you can also enter your own.'
        }
        mono
        value={value}
        problem={problem}
        onValue={onValue}
      />
      <div class="actions">
        <Button onClick={() => onValue(newSigningKey())} text="Make a new key" />
      </div>
    </>
  );
}
