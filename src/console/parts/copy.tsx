import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icon.js';
import { toast } from './toast.js';

/** How long the button shows that it has copied. */
const doneMs = 1_500;

/** A button that copies a text. `what` names it for the label: `Copy address`. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [isDone, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    if (!(await copyText(text))) {
      toast(`The browser does not allow this page to copy. Select the ${what} and copy it.`);
      return;
    }
    toast(`Copied: ${what}`);
    setDone(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), doneMs);
  };
  return (
    <button type="button" class="icon-button" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={copy}>
      <Icon name={isDone ? 'check' : 'copy'} />
    </button>
  );
}

/** A long id or hash, shortened in the middle, with a button that copies all of it. */
export function Hash({ value, what, keep = 6 }: { readonly value: string; readonly what: string; readonly keep?: number }) {
  return (
    <span class="hash">
      <code title={value}>{shortened(value, keep)}</code>
      <CopyButton text={value} what={what} />
    </span>
  );
}

/** Shortens a text in the middle: people compare its first and its last characters. */
export function shortened(value: string, keep = 6): string {
  const head = value.startsWith('0x') ? keep + 2 : keep;
  return value.length <= head + keep + 1 ? value : `${value.slice(0, head)}…${value.slice(-keep)}`;
}

/** Copies a text. Returns false if the browser refuses. On plain HTTP, browsers have only the older way. */
async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard !== undefined) {
      await navigator.clipboard.writeText(text);
      return true;
    }
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    const before = document.activeElement;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return isCopied;
  } catch {
    return false;
  }
}
