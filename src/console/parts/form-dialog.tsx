import type { ComponentChildren } from 'preact';
import type { Failure } from '../service/failure.js';
import { Dialog } from './dialog.js';
import { FailureNote } from './failure-note.js';

/** A form in a dialog. Its button runs the action; the dialog stays open if that fails. */
export function FormDialog({
  title,
  action,
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
      <form
        class="dialog-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isRunning) onSubmit();
        }}
      >
        <div class="dialog-body">
          {children}
          <FailureNote failure={failure} />
        </div>
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="primary" disabled={!isReady || isRunning}>
            {isRunning ? 'Working…' : action}
          </button>
        </footer>
      </form>
    </Dialog>
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
        <button type="button" class="primary" onClick={onClose}>
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
