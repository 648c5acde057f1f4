import { initKeccak } from '../../../src/crypto/keccak.js';
import { chainContract } from '../../contracts/chain.contract.js';
import { openContractRig } from '../../support/contract-rig.js';

await initKeccak();
chainContract('EVM', () => openContractRig('evm'), { counts: true });
