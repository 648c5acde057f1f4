import { type RpcUrl, RpcUrlSchema } from '../../../gen/relayer/v1/network_service_pb.js';
import { Button } from '../parts/button.js';
import { Note } from '../parts/failure-note.js';
import { TextArea, TextInput } from '../parts/inputs.js';
import { helpOf } from '../text/help.js';

/** An RPC endpoint as it was typed. */
export interface TypedRpcUrl {
  readonly url: string;
  readonly weight: string;
  /** A line for each: `Name: value`. */
  readonly headers: string;
}

/** Returns the endpoints of a record as they appear in a form. */
export function typedRpcUrls(urls: readonly RpcUrl[]): readonly TypedRpcUrl[] {
  return urls.map(({ url, weight, headers }) => ({
    url,
    weight: weight?.toString() ?? '',
    headers: headers.map(({ name, value }) => `${name}: ${value}`).join('\n'),
  }));
}

/** Reads the endpoints of a form. Weights that are no numbers become one that the service refuses, with a sentence. */
export function rpcUrlsFrom(urls: readonly TypedRpcUrl[]): { url: string; weight?: number; headers: { name: string; value: string }[] }[] {
  return urls.map(({ url, weight, headers }) => ({
    url: url.trim(),
    ...(weight.trim() === '' ? {} : { weight: /^\d{1,9}$/.test(weight.trim()) ? Number(weight) : 4_294_967_295 }),
    headers: linesOf(headers).map((line) => {
      const [name = '', ...value] = line.split(':');
      return { name: name.trim(), value: value.join(':').trim() };
    }),
  }));
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** The paths of the service's field errors, by the names that the form gives to its fields. */
export function rpcUrlPaths(path: string, urls: readonly TypedRpcUrl[]): Readonly<Record<string, string>> {
  const paths: Record<string, string> = { urls: path };
  urls.forEach(({ headers }, index) => {
    paths[`url.${index}`] = `${path}[${index}].url`;
    paths[`weight.${index}`] = `${path}[${index}].weight`;
    paths[`headers.${index}`] = `${path}[${index}].headers`;
    linesOf(headers).forEach((_, line) => {
      for (const part of ['name', 'value']) paths[`headers.${index}.${line}.${part}`] = `${path}[${index}].headers[${line}].${part}`;
    });
  });
  return paths;
}

/** A list of RPC endpoints to edit. */
export function RpcUrlInputs({
  urls,
  onUrls,
  problems,
}: {
  readonly urls: readonly TypedRpcUrl[];
  readonly onUrls: (urls: readonly TypedRpcUrl[]) => void;
  readonly problems: Readonly<Record<string, string>>;
}) {
  const change = (index: number, part: Partial<TypedRpcUrl>) => onUrls(urls.map((url, at) => (at === index ? { ...url, ...part } : url)));
  return (
    <>
      {urls.some(({ url, headers }) => `${url}${headers}`.includes('***')) && (
        <Note>
          <p>
            The service hides what follows a host, and the values of headers, as <code>***</code>, since they can contain secrets. What you
            leave so stays as it is stored. If two URLs look the same, write both completely.
          </p>
        </Note>
      )}
      {urls.map(({ url, weight, headers }, index) => (
        <fieldset class="sub" key={index}>
          <legend>Endpoint {index + 1}</legend>
          <TextInput label="URL" mono value={url} problem={problems[`url.${index}`]} onValue={(value) => change(index, { url: value })} />
          <TextInput
            label="Weight"
            inputMode="numeric"
            hint={helpOf(RpcUrlSchema.field.weight)}
            value={weight}
            problem={problems[`weight.${index}`]}
            onValue={(value) => change(index, { weight: value })}
          />
          <TextArea
            label="Headers"
            rows={2}
            hint={`A line for each, as in Authorization: Bearer key. ${helpOf(RpcUrlSchema.field.headers)}`}
            value={headers}
            problem={headersProblem(index, problems)}
            onValue={(value) => change(index, { headers: value })}
          />
          <div class="actions">
            <Button
              class="danger-quiet"
              onClick={() => onUrls(urls.filter((_, at) => at !== index))}
              text={`Remove endpoint ${index + 1}`}
            />
          </div>
        </fieldset>
      ))}
      {problems.urls !== undefined && <p class="problem">{problems.urls}</p>}
      <div class="actions">
        <Button onClick={() => onUrls([...urls, { url: '', weight: '', headers: '' }])} text="Add an endpoint" />
      </div>
    </>
  );
}

/** Returns what the service said about the headers of an endpoint: each sentence with the line that it is about. */
function headersProblem(index: number, problems: Readonly<Record<string, string>>): string | undefined {
  const beginning = `headers.${index}`;
  const sentences = Object.entries(problems).flatMap(([name, problem]) => {
    if (name === beginning) return [problem];
    if (!name.startsWith(`${beginning}.`)) return [];
    const [line, part] = name.slice(beginning.length + 1).split('.');
    return [`Line ${Number(line) + 1}: ${part} ${problem}`];
  });
  return sentences.length === 0 ? undefined : sentences.join(' ');
}
