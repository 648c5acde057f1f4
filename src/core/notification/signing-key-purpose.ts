/** What a notification's signing key is sealed for: it can be opened for no other notification. */
export function signingKeyPurpose(notificationId: string): string {
  return `notification:${notificationId}`;
}
