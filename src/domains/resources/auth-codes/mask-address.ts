/** An address that its owner recognizes and nobody else learns: `a***@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const [first = ''] = address;
  return at < 1 ? '***' : `${first}***${address.slice(at)}`;
}
