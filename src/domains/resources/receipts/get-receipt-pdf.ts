import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ByteContent } from '../../../kernel/http/byte-content.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { renderReceiptPdf } from '../../receipts/index.ts';
import { ownReceipt } from './get-receipt.ts';
import type { ReceiptPath } from './schema.ts';

/** Throws `not_found`. */
export async function getReceiptPdf(request: WorkspaceRead<{ params: ReceiptPath }>): Promise<ByteContent> {
  const receipt = await ownReceipt(request);
  const bytes = await renderReceiptPdf(receipt);
  return new ByteContent({
    totalBytes: bytes.length,
    mediaType: 'application/pdf',
    etag: createHash('sha256').update(bytes).digest('hex'),
    filename: `receipt-${receipt.number}.pdf`,
    open: async (range) =>
      Readable.from([range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)], { objectMode: false }),
  });
}
