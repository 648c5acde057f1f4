/** An error of a contract, and what it means. */
export interface KnownError {
  /** Its name and arguments, such as `InsufficientBalance(uint256 balance, uint256 needed)`. Each argument has one word. */
  readonly signature: string;
  readonly meaning: string;
}

/** Errors that many contracts share, by their selector. All are errors of OpenZeppelin Contracts 5. A test computes the selectors. */
export const knownErrors: Readonly<Record<string, KnownError>> = {
  // ERC-20.
  e450d38c: {
    signature: 'ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
    meaning: 'the sender has fewer tokens than needed',
  },
  '96c6fd1e': { signature: 'ERC20InvalidSender(address sender)', meaning: 'tokens cannot be sent from this address' },
  ec442f05: { signature: 'ERC20InvalidReceiver(address receiver)', meaning: 'this address cannot receive tokens' },
  fb8f41b2: {
    signature: 'ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
    meaning: 'the owner allowed the spender fewer tokens than needed',
  },
  e602df05: { signature: 'ERC20InvalidApprover(address approver)', meaning: 'this address cannot allow others to spend' },
  '94280d62': { signature: 'ERC20InvalidSpender(address spender)', meaning: 'this address cannot be allowed to spend' },
  '62791302': { signature: 'ERC2612ExpiredSignature(uint256 deadline)', meaning: 'the deadline of the permit has passed' },
  '4b800e46': { signature: 'ERC2612InvalidSigner(address signer, address owner)', meaning: 'the permit is not signed by the owner' },
  '5274afe7': { signature: 'SafeERC20FailedOperation(address token)', meaning: 'the token refused the transfer or the approval' },
  // ERC-721.
  '89c62b64': { signature: 'ERC721InvalidOwner(address owner)', meaning: 'this address cannot own tokens' },
  '7e273289': { signature: 'ERC721NonexistentToken(uint256 tokenId)', meaning: 'the token does not exist' },
  '64283d7b': {
    signature: 'ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
    meaning: 'the sender does not own the token',
  },
  '73c6ac6e': { signature: 'ERC721InvalidSender(address sender)', meaning: 'tokens cannot be sent from this address' },
  '64a0ae92': { signature: 'ERC721InvalidReceiver(address receiver)', meaning: 'this address cannot receive tokens' },
  '177e802f': {
    signature: 'ERC721InsufficientApproval(address operator, uint256 tokenId)',
    meaning: 'the owner has not allowed the caller to move the token',
  },
  a9fbf51f: { signature: 'ERC721InvalidApprover(address approver)', meaning: 'this address cannot allow others to move the token' },
  '5b08ba18': { signature: 'ERC721InvalidOperator(address operator)', meaning: 'this address cannot be allowed to move tokens' },
  // Access.
  '118cdaa7': { signature: 'OwnableUnauthorizedAccount(address account)', meaning: 'the caller is not the owner of the contract' },
  '1e4fbdf7': { signature: 'OwnableInvalidOwner(address owner)', meaning: 'this address cannot own the contract' },
  e2517d3f: {
    signature: 'AccessControlUnauthorizedAccount(address account, bytes32 role)',
    meaning: 'the caller lacks the role that the function needs',
  },
  '6697b232': { signature: 'AccessControlBadConfirmation()', meaning: 'only the account itself can renounce its role' },
  d93c0665: { signature: 'EnforcedPause()', meaning: 'the contract is paused' },
  '8dfc202b': { signature: 'ExpectedPause()', meaning: 'the contract is not paused' },
  '3ee5aeb5': { signature: 'ReentrancyGuardReentrantCall()', meaning: 'the call re-entered the contract' },
  f92ee8a9: { signature: 'InvalidInitialization()', meaning: 'the contract is already initialized' },
  d7e6bcf8: { signature: 'NotInitializing()', meaning: 'the function can run only during initialization' },
  // Addresses.
  d6bda275: { signature: 'FailedCall()', meaning: 'an inner call failed' },
  cf479181: {
    signature: 'InsufficientBalance(uint256 balance, uint256 needed)',
    meaning: 'the contract has less of the native coin than needed',
  },
  '9996b315': { signature: 'AddressEmptyCode(address target)', meaning: 'the target has no code' },
};
