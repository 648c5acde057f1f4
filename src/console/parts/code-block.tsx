/** Text of a program, which scrolls if it is long: by keyboard too, so it can have the focus. */
export function CodeBlock({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class="code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}
