/** A mark as the clearinghouse signs it (RFC 7848), in base64; the signature is none, as only registries look at it. */
export interface MarkParts {
  readonly labels: readonly string[];
  readonly from?: string;
  readonly until?: string;
  /** In place of `signedMark`. */
  readonly root?: string;
}

export function signedMark({
  from = '2020-01-01T00:00:00Z',
  labels,
  root = 'signedMark',
  until = '2090-01-01T00:00:00Z',
}: MarkParts): string {
  const document =
    `<?xml version="1.0" encoding="UTF-8"?><smd:${root} xmlns:smd="urn:ietf:params:xml:ns:signedMark-1.0" id="signed">` +
    '<smd:id>1-2</smd:id><smd:issuerInfo issuerID="1"><smd:org>Clearinghouse</smd:org><smd:email>notify@example.org</smd:email></smd:issuerInfo>' +
    `<smd:notBefore>${from}</smd:notBefore><smd:notAfter>${until}</smd:notAfter>` +
    `${markElement(labels)}</smd:${root}>`;
  return Buffer.from(document).toString('base64');
}

function markElement(labels: readonly string[]): string {
  const listed = labels.map((label) => `<mark:label>${label}</mark:label>`).join('');
  return (
    '<mark:mark xmlns:mark="urn:ietf:params:xml:ns:mark-1.0"><mark:trademark><mark:id>1-1</mark:id><mark:markName>Gold</mark:markName>' +
    `<mark:jurisdiction>AU</mark:jurisdiction>${listed}<mark:goodsAndServices>Rings</mark:goodsAndServices></mark:trademark></mark:mark>`
  );
}

/** A mark that nobody has signed, in base64. */
export function markDocument(labels: readonly string[]): string {
  return Buffer.from(markElement(labels)).toString('base64');
}
