import type { ComponentChildren, JSX } from 'preact';

type Attributes = Omit<JSX.IntrinsicElements['button'], 'type' | 'children'>;

/** A button that does what `onClick` says, or submits its form if its type says so. */
export function Button({ text, ...attributes }: Attributes & { readonly text: ComponentChildren; readonly type?: 'submit' }) {
  return (
    <button type="button" {...attributes}>
      {text}
    </button>
  );
}
