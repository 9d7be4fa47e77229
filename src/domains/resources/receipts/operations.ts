import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { getReceipt } from './get-receipt.ts';
import { getReceiptPdf } from './get-receipt-pdf.ts';
import { listReceipts } from './list-receipts.ts';
import { Receipt, ReceiptList, ReceiptPath } from './schema.ts';

export function receiptOperations() {
  return [
    workspace.read({
      id: 'receipts.list',
      method: 'GET',
      path: `${BASE_PATH}/receipts`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List receipts',
      description:
        'One for each payment by card and for each refund, newest first, about a minute after it; where the server issues receipts.',
      query: ListQuery,
      reply: ReceiptList,
      handler: listReceipts,
    }),
    workspace.read({
      id: 'receipts.get',
      method: 'GET',
      path: `${BASE_PATH}/receipts/{receipt_id}`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Get a receipt',
      params: ReceiptPath,
      reply: Receipt,
      handler: getReceipt,
    }),
    workspace.read({
      id: 'receipts.pdf',
      method: 'GET',
      path: `${BASE_PATH}/receipts/{receipt_id}/pdf`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Download a receipt as PDF',
      params: ReceiptPath,
      answers: 'bytes',
      handler: getReceiptPdf,
    }),
  ];
}
