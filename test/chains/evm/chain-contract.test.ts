import { initKeccak } from '../../../src/crypto/keccak.js';
import { chainContract } from '../../contracts/chain.contract.js';
import { openEvmRig } from '../../support/evm-contract-rig.js';

await initKeccak();
chainContract('EVM', openEvmRig, { counts: true });
