/** What examples are about. */
export const exampleIds = {
  receiver: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  otherReceiver: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  relayerAddress: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  transaction: '019a9f3c-52d1-7c0e-9d3b-2f6a1c8e4b70',
  delivery: '019a9f3c-5310-7a44-8f1e-6c0d9b2a7e55',
  apiKey: '019a9f3c-5402-7b19-8a6d-0e4f7c2b9d31',
} as const;
