import { signal } from '@preact/signals';

/** How long a message stays. Errors never appear as a toast: they stay where they happened. */
const shownMs = 6_000;

const messages = signal<readonly { readonly id: number; readonly text: string }[]>([]);
let lastId = 0;

/** Shows a sentence for a few seconds, and has a screen reader say it. */
export function toast(text: string): void {
  lastId += 1;
  const id = lastId;
  messages.value = [...messages.value.slice(-3), { id, text }];
  setTimeout(() => {
    messages.value = messages.value.filter((message) => message.id !== id);
  }, shownMs);
}

/** The place of the messages. It is always in the page, because screen readers announce changes only within what they already know. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.value.map(({ id, text }) => (
        <p key={id} class="toast">
          {text}
        </p>
      ))}
    </div>
  );
}
