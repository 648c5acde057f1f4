import { CopyButton } from './copy.js';
import { Note } from './failure-note.js';

/** A secret that the page shows once: it is in no record of the service, and the page forgets it when this is closed. */
export function SecretOnce({ secret, what, children }: { readonly secret: string; readonly what: string; readonly children: string }) {
  return (
    <>
      <Note tone="warn">
        <p>{children}</p>
      </Note>
      <p class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} what={what} />
      </p>
    </>
  );
}
