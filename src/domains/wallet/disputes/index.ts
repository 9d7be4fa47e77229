export { isDisputed, listDisputes } from './list-disputes.ts';
export { mailDisputes } from './mail-disputes.ts';
export { receiveDispute } from './receive-dispute.ts';
