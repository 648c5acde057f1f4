import { chainContract } from '../../contracts/chain.contract.js';
import { openContractRig } from '../../support/contract-rig.js';

chainContract('EVM', () => openContractRig('evm'), { counts: true });
