import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Failure } from '../model/failure.js';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { FailureNote } from './failure-note.js';
import { Form } from './form.js';
import { useAction } from './use-call.js';

/** A form in a dialog. Its button runs the action; the dialog stays open if that fails. */
export function FormDialog({
  title,
  action,
  destructive = false,
  isRunning,
  isReady = true,
  failure,
  wide = false,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** The verb on the button. */
  readonly action: string;
  readonly destructive?: boolean;
  readonly isRunning: boolean;
  readonly isReady?: boolean;
  /** The problems that belong to no field. */
  readonly failure: Failure | undefined;
  readonly wide?: boolean;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <Form
        class="dialog-form"
        onSubmit={() => {
          if (isReady && !isRunning) onSubmit();
        }}
      >
        <div class="dialog-body">
          {children}
          <FailureNote failure={failure} />
        </div>
        <footer class="dialog-foot">
          <Button onClick={onClose} text="Close" />
          <Button
            type="submit"
            class={destructive ? 'danger' : 'primary'}
            disabled={!isReady || isRunning}
            text={isRunning ? 'Working…' : action}
          />
        </footer>
      </Form>
    </Dialog>
  );
}

/**
 * Asks before something that cannot be undone. If `typed` is given, the operator must type it: the id of what the action ends. The dialog
 * closes when `onConfirm` has succeeded, and shows its failure.
 */
export function ConfirmDialog({
  title,
  action,
  typed,
  destructive = true,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** The verb on the button. */
  readonly action: string;
  readonly typed?: string;
  readonly destructive?: boolean;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const [text, setText] = useState('');
  const inputId = useId();
  const confirm = useAction(onConfirm);
  return (
    <FormDialog
      title={title}
      action={action}
      destructive={destructive}
      isRunning={confirm.isRunning}
      isReady={typed === undefined || text.trim() === typed}
      failure={confirm.failure}
      onSubmit={async () => {
        if (await confirm.run()) onClose();
      }}
      onClose={onClose}
    >
      {children}
      {typed !== undefined && (
        <div class="field">
          <label htmlFor={inputId}>
            Type <code>{typed}</code> to confirm
          </label>
          <input
            id={inputId}
            value={text}
            autoComplete="off"
            autoCapitalize="off"
            spellcheck={false}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </div>
      )}
    </FormDialog>
  );
}

/** A dialog that tells a result, and closes by its one button. */
export function ResultDialog({
  title,
  action = 'Done',
  onClose,
  children,
}: {
  readonly title: string;
  readonly action?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body">{children}</div>
      <footer class="dialog-foot">
        <Button class="primary" onClick={onClose} text={action} />
      </footer>
    </Dialog>
  );
}
