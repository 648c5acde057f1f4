import { chainContract } from '../../contracts/chain.contract.js';
import { openContractRig } from '../../support/contract-rig.js';

chainContract('Stellar', () => openContractRig('stellar'), { counts: true });
