import { useState } from 'preact/hooks';
import { type SnippetRequest, snippetsOf } from '../text/snippets.js';
import { Button } from './button.js';
import { CodeBlock } from './code-block.js';
import { CopyButton } from './copy.js';
import { Dialog } from './dialog.js';
import { Segments } from './inputs.js';

/** A button that shows a call for curl, grpcurl, TypeScript and Python, to copy. */
export function CopyAsButton({
  request,
}: {
  /** Called when the button is pressed. Null: there is nothing to copy yet. */ readonly request: () => SnippetRequest | null;
}) {
  const [shown, setShown] = useState<SnippetRequest | null>(null);
  return (
    <>
      <Button onClick={() => setShown(request())} text="Copy as…" />
      {shown !== null && <CopyAsDialog request={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function CopyAsDialog({ request, onClose }: { readonly request: SnippetRequest; readonly onClose: () => void }) {
  const snippets = snippetsOf(request, location.origin);
  const [name, setName] = useState('curl');
  const snippet = snippets.find((one) => one.name === name);
  return (
    <Dialog title="Copy as" onClose={onClose} wide>
      <div class="dialog-body">
        <div class="page-head">
          <Segments
            label="Language"
            choices={Object.fromEntries(snippets.map((one) => [one.name, one.name]))}
            value={name}
            onValue={setName}
          />
          {snippet !== undefined && <CopyButton text={snippet.text} what={`${name} call`} />}
        </div>
        <CodeBlock label={`${name} call`} text={snippet?.text ?? ''} />
        <p class="quiet small">
          The call takes the API key from the environment variable <code>API_KEY</code>.
        </p>
      </div>
    </Dialog>
  );
}
