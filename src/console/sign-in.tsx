import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './parts/button.js';
import { FailureNote, Note } from './parts/failure-note.js';
import { Form } from './parts/form.js';
import { useAction } from './parts/use-call.js';
import { apiKeys, once } from './service/clients.js';
import { endedBecause, signIn } from './service/session.js';

/** Asks for the API key. It goes from the field into memory, and nowhere else. */
export function SignIn() {
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // The page has nothing else to do first.
  useEffect(() => field.current?.focus(), []);
  const enter = useAction(async () => {
    const input = field.current;
    if (input === null || !input.reportValidity()) return;
    await signIn(input.value.trim(), async () => {
      const { caller } = await apiKeys.getCaller({}, once);
      if (caller === undefined) throw new Error('the response has no caller');
      return caller;
    });
    input.value = '';
  });
  return (
    <main class="sign-in">
      <Form class="card" onSubmit={() => enter.run()}>
        <h1>
          <img src="/docs/icon.svg" alt="" width="32" height="32" />
          Relayer console
        </h1>
        {endedBecause.value !== null && enter.failure === undefined && <Note tone="warn">{endedBecause.value}</Note>}
        <div class="field">
          <label htmlFor={id}>API key</label>
          <input id={id} ref={field} type="password" autoComplete="off" spellcheck={false} aria-describedby={`${id}-hint`} required />
          <p id={`${id}-hint`} class="hint">
            This page keeps the key in memory only. It forgets the key when you reload or close it.
          </p>
        </div>
        <FailureNote failure={enter.failure} />
        <Button type="submit" class="primary" disabled={enter.isRunning} text={enter.isRunning ? 'Signing in…' : 'Sign in'} />
        <p class="quiet small">
          <a href="/docs">API reference</a>
        </p>
      </Form>
    </main>
  );
}
