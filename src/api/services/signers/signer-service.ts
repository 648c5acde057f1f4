import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { type CreateSignerRequest, type Signer, SignerSchema, SignerService } from '../../../../gen/relayer/v1/signer_service_pb.js';
import { hostedKeyFromProto, protoOfHostedKey } from '../../../codec/signer-values.js';
import { invalidField } from '../../../core/errors/errors.js';
import type { Keccak256 } from '../../../core/signer/sign-data.js';
import {
  createSigner,
  deleteSigner,
  getSigner,
  type HeldSigner,
  type NewSigner,
  type SignerDeps,
  testSigner,
} from '../../../core/signer/signers.js';
import { monotonicMs } from '../../../core/work/clock.js';
import { callOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../shared/list-page.js';
import { present } from '../shared/present.js';

export interface SignerServiceDeps extends SignerDeps {
  readonly keccak256: Keccak256;
}

/** Implements `relayer.v1.SignerService`. */
export function createSignerService(deps: SignerServiceDeps): ServiceImpl<typeof SignerService> {
  return {
    createSigner: replayable(SignerService.method.createSigner, async (request, _context, saveResponse) => {
      const wanted = { id: request.id, key: keyFrom(request) };
      const signer = await createSigner(deps, wanted, (created) => saveResponse(() => ({ signer: protoOfSigner(created) })));
      return { signer: protoOfSigner(signer) };
    }),
    getSigner({ signerId }) {
      return { signer: protoOfSigner(getSigner(deps.signers, signerId)) };
    },
    listSigners(request, context) {
      const page = pageOf(request, callOf(context));
      const found = sliceOf(deps.signers.all().toReversed(), page, ({ id }) => id);
      const { records: signers, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { signers, ...rest };
    },
    async deleteSigner({ signerId }) {
      await deleteSigner(deps, signerId);
      return {};
    },
    async testSigner({ signerId }) {
      const { evmAddress, publicKey, milliseconds } = await testSigner({ ...deps, elapsedMs: monotonicMs }, signerId);
      const hex = publicKey === null ? null : Buffer.from(publicKey).toString('hex');
      return { result: { ...present('evmAddress', evmAddress), ...present('publicKey', hex), milliseconds } };
    },
  };
}

/** Returns the key of a request. Throws `FIELD_INVALID`. */
export function keyFrom({ config }: CreateSignerRequest): NewSigner['key'] {
  if (config.case === undefined) throw invalidField('config', 'is required');
  if (config.case !== 'local') return { hosted: hostedKeyFromProto(config) };
  const { secret, passphrase } = config.value;
  if (secret.case === undefined) throw invalidField('config', 'must have a key or a keystore');
  if (secret.case === 'key') {
    if (passphrase !== undefined) throw invalidField('config.passphrase', 'is allowed only with a keystore');
    return { privateKey: secret.value };
  }
  if (passphrase === undefined) throw invalidField('config.passphrase', 'is required with a keystore');
  return { keystore: secret.value, passphrase };
}

const listing: Listing<HeldSigner, Signer> = { desc: SignerSchema, record: protoOfSigner, idOf: ({ id }) => id };

function protoOfSigner({ id, evmAddress, place, on }: HeldSigner): Signer {
  if (place === null) return create(SignerSchema, { id, config: { case: 'local', value: present('evmAddress', evmAddress) } });
  const ed25519 = on('ed25519');
  const publicKey = ed25519?.curve === 'ed25519' ? Buffer.from(ed25519.publicKey).toString('hex') : null;
  return protoOfHostedKey(id, { ...place, evmAddress, publicKey });
}
