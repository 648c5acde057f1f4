import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Failure } from '../service/failure.js';
import { FailureNote } from './failure-note.js';
import { Icon } from './icon.js';

/** A dialog over the page. The browser keeps the focus within it, closes it on Esc, and returns the focus to the element that opened it. */
export function Dialog({
  title,
  onClose,
  wide = false,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      // The browser returns the focus only if the dialog closes while it is in the page.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

/**
 * Asks before something that cannot be undone. If `typed` is given, the operator must type it: the id of what the action ends.
 * `onConfirm` resolves to true if it is done; the dialog then closes.
 */
export function ConfirmDialog({
  title,
  action,
  typed,
  destructive = true,
  isRunning,
  failure,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** The verb on the button. */
  readonly action: string;
  readonly typed?: string;
  readonly destructive?: boolean;
  readonly isRunning: boolean;
  readonly failure: Failure | undefined;
  readonly onConfirm: () => Promise<boolean>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const [text, setText] = useState('');
  const inputId = useId();
  const isReady = typed === undefined || text.trim() === typed;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={async (event) => {
          event.preventDefault();
          if (isReady && !isRunning && (await onConfirm())) onClose();
        }}
      >
        <div class="dialog-body">
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
          <FailureNote failure={failure} />
        </div>
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class={destructive ? 'danger' : 'primary'} disabled={!isReady || isRunning}>
            {isRunning ? 'Working…' : action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
