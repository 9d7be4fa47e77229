/** An address that its owner recognizes and that is of no use to others: `a***@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const [first = ''] = address;
  return at < 1 ? '***' : `${first}***${address.slice(at)}`;
}
