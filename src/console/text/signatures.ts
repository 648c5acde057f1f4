/**
 * Functions that many contracts share, by their selector: the first four bytes of the Keccak hash of the signature without names and
 * spaces. The selectors are literals because the console has no Keccak; a test computes them.
 */
export const knownFunctions: Readonly<Record<string, string>> = {
  // ERC-20.
  a9059cbb: 'transfer(address to, uint256 amount)',
  '095ea7b3': 'approve(address spender, uint256 amountOrTokenId)',
  '23b872dd': 'transferFrom(address from, address to, uint256 amountOrTokenId)',
  '39509351': 'increaseAllowance(address spender, uint256 added)',
  a457c2d7: 'decreaseAllowance(address spender, uint256 subtracted)',
  '40c10f19': 'mint(address to, uint256 amountOrTokenId)',
  '42966c68': 'burn(uint256 amountOrTokenId)',
  '79cc6790': 'burnFrom(address account, uint256 amount)',
  '4000aea0': 'transferAndCall(address to, uint256 amount, bytes data)',
  // ERC-2612, Dai and ERC-3009: transfers by signature.
  d505accf: 'permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  '8fcbaf0c': 'permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
  e3ee160e:
    'transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  ef55bec6:
    'receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  '5a049a70': 'cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  '87517c45': 'approve(address token, address spender, uint160 amount, uint48 expiration)',
  // WETH and ERC-4626.
  d0e30db0: 'deposit()',
  '2e1a7d4d': 'withdraw(uint256 amount)',
  '6e553f65': 'deposit(uint256 assets, address receiver)',
  '94bf804d': 'mint(uint256 shares, address receiver)',
  b460af94: 'withdraw(uint256 assets, address receiver, address owner)',
  ba087652: 'redeem(uint256 shares, address receiver, address owner)',
  // ERC-721 and ERC-1155.
  '42842e0e': 'safeTransferFrom(address from, address to, uint256 tokenId)',
  b88d4fde: 'safeTransferFrom(address from, address to, uint256 tokenId, bytes data)',
  a22cb465: 'setApprovalForAll(address operator, bool approved)',
  a1448194: 'safeMint(address to, uint256 tokenId)',
  f242432a: 'safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
  '2eb2c2d6': 'safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
  '731133e9': 'mint(address to, uint256 id, uint256 amount, bytes data)',
  f5298aca: 'burn(address from, uint256 id, uint256 amount)',
  // Several calls in one.
  ac9650d8: 'multicall(bytes[] calls)',
  '5ae401dc': 'multicall(uint256 deadline, bytes[] calls)',
  '252dba42': 'aggregate((address target, bytes callData)[] calls)',
  bce38bd7: 'tryAggregate(bool requireSuccess, (address target, bytes callData)[] calls)',
  '82ad56cb': 'aggregate3((address target, bool allowFailure, bytes callData)[] calls)',
  '174dea71': 'aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls)',
  '8d80ff0a': 'multiSend(bytes transactions)',
  // Ownable, AccessControl, Pausable and proxies.
  f2fde38b: 'transferOwnership(address newOwner)',
  '79ba5097': 'acceptOwnership()',
  '715018a6': 'renounceOwnership()',
  '2f2ff15d': 'grantRole(bytes32 role, address account)',
  d547741f: 'revokeRole(bytes32 role, address account)',
  '36568abe': 'renounceRole(bytes32 role, address account)',
  '8456cb59': 'pause()',
  '3f4ba83a': 'unpause()',
  '3659cfe6': 'upgradeTo(address implementation)',
  '4f1ef286': 'upgradeToAndCall(address implementation, bytes data)',
  '9623609d': 'upgradeAndCall(address proxy, address implementation, bytes data)',
  '8129fc1c': 'initialize()',
  // Smart accounts, forwarders and timelocks.
  '6a761202':
    'execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
  b61d27f6: 'execute(address target, uint256 value, bytes data)',
  '47e1da2a': 'executeBatch(address[] targets, uint256[] values, bytes[] calls)',
  df905caf: 'execute((address from, address to, uint256 value, uint256 gas, uint48 deadline, bytes data, bytes signature) request)',
  '765e827f':
    'handleOps((address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)[] ops, address beneficiary)',
  '1fad948c':
    'handleOps((address sender, uint256 nonce, bytes initCode, bytes callData, uint256 callGasLimit, uint256 verificationGasLimit, uint256 preVerificationGas, uint256 maxFeePerGas, uint256 maxPriorityFeePerGas, bytes paymasterAndData, bytes signature)[] ops, address beneficiary)',
  '01d5062a': 'schedule(address target, uint256 value, bytes data, bytes32 predecessor, bytes32 salt, uint256 delay)',
  '56781388': 'castVote(uint256 proposalId, uint8 support)',
  '7b3c71d3': 'castVoteWithReason(uint256 proposalId, uint8 support, string reason)',
  '7d5e81e2': 'propose(address[] targets, uint256[] values, bytes[] calls, string description)',
  '5c19a95c': 'delegate(address delegatee)',
  // Uniswap.
  '38ed1739': 'swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  '8803dbee': 'swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)',
  '7ff36ab5': 'swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  '4a25d94a': 'swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)',
  '18cbafe5': 'swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  fb3bdb41: 'swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline)',
  e8e33700:
    'addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)',
  f305d719:
    'addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)',
  baa2abde:
    'removeLiquidity(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)',
  '414bf389':
    'exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)',
  '04e45aaf':
    'exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)',
  c04b8d59: 'exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum) params)',
  db3e2198:
    'exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)',
  '3593564c': 'execute(bytes commands, bytes[] inputs, uint256 deadline)',
  '24856bc3': 'execute(bytes commands, bytes[] inputs)',
  '128acb08': 'swap(address recipient, bool zeroForOne, int256 amountSpecified, uint160 sqrtPriceLimitX96, bytes data)',
  // Curve.
  '3df02124': 'exchange(int128 i, int128 j, uint256 dx, uint256 minDy)',
  '0b4c7e4d': 'add_liquidity(uint256[2] amounts, uint256 minMint)',
  '4515cef3': 'add_liquidity(uint256[3] amounts, uint256 minMint)',
  '5b36389c': 'remove_liquidity(uint256 amount, uint256[2] minAmounts)',
};
