import { type RpcUrl, RpcUrlSchema } from '../../../gen/relayer/v1/network_service_pb.js';
import { Button } from '../parts/button.js';
import { Note } from '../parts/failure-note.js';
import { TextInput } from '../parts/inputs.js';
import { helpOf } from '../text/help.js';

/** An RPC endpoint as it was typed. */
export interface TypedRpcUrl {
  readonly url: string;
  readonly weight: string;
}

/** Returns the endpoints of a record as they appear in a form. */
export function typedRpcUrls(urls: readonly RpcUrl[]): readonly TypedRpcUrl[] {
  return urls.map(({ url, weight }) => ({ url, weight: weight?.toString() ?? '' }));
}

/** Reads the endpoints of a form. Weights that are no numbers become one that the service refuses, with a sentence. */
export function rpcUrlsFrom(urls: readonly TypedRpcUrl[]): { url: string; weight?: number }[] {
  return urls.map(({ url, weight }) => ({
    url: url.trim(),
    ...(weight.trim() === '' ? {} : { weight: /^\d{1,9}$/.test(weight.trim()) ? Number(weight) : 4_294_967_295 }),
  }));
}

/** The paths of the service's field errors, by the names that the form gives to its fields. */
export function rpcUrlPaths(path: string, urls: readonly TypedRpcUrl[]): Readonly<Record<string, string>> {
  const paths: Record<string, string> = { urls: path };
  urls.forEach((_, index) => {
    paths[`url.${index}`] = `${path}[${index}].url`;
    paths[`weight.${index}`] = `${path}[${index}].weight`;
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
      {urls.some(({ url }) => url.includes('***')) && (
        <Note>
          <p>
            The list is replaced as a whole. Write each URL completely: the service hides what follows the host as <code>***</code>, since
            it can contain a secret.
          </p>
        </Note>
      )}
      {urls.map(({ url, weight }, index) => (
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
        <Button onClick={() => onUrls([...urls, { url: '', weight: '' }])} text="Add an endpoint" />
      </div>
    </>
  );
}
