export { renderTransferOut, TransferOut } from './schema.ts';
