import type { ComponentChildren } from 'preact';
import type { Failure } from '../model/failure.js';
import { Button } from './button.js';
import { CopyButton } from './copy.js';
import { Icon } from './icon.js';

/** An error in the words of the service, with the request id that finds it in the service's log. */
export function FailureNote({ failure, onRetry }: { readonly failure: Failure | undefined; readonly onRetry?: () => void }) {
  if (failure === undefined) return null;
  const { sentence, fields, requestId, reason } = failure;
  return (
    <div class="note bad" role="alert">
      <Icon name="alert" />
      <div class="note-body">
        <p>{sentence}</p>
        {fields.length > 1 && (
          <ul>
            {fields.map(({ field, description }) => (
              <li key={field}>
                <code>{field}</code>: {description}
              </li>
            ))}
          </ul>
        )}
        {requestId !== null && (
          <p class="quiet small">
            {reason !== null && `${reason} · `}request <code>{requestId}</code> <CopyButton text={requestId} what="request id" />
          </p>
        )}
      </div>
      {onRetry !== undefined && <Button onClick={onRetry} text="Try again" />}
    </div>
  );
}

/** A note that is no error. */
export function Note({ tone = 'quiet', children }: { readonly tone?: 'quiet' | 'warn' | 'bad'; readonly children: ComponentChildren }) {
  return (
    <div class={`note ${tone}`}>
      <Icon name={tone === 'quiet' ? 'dot' : 'alert'} />
      <div class="note-body">{children}</div>
    </div>
  );
}

/** Says that a list has nothing, and why or what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p class="quiet">{children}</p>}
    </div>
  );
}

/** Says that something is being loaded. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}
