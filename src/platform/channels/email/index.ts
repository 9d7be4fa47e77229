/** Mail, out by SMTP and in by HTTP or SMTP. */
export { checkEmailAccount, emailDnsRecords, type MailDomainSettings } from './account.ts';
export { domainOf, readAddress } from './address.ts';
export { createEmailChannel } from './email-channel.ts';
export { createMailPort } from './mail-port.ts';
export { type MailboxSettings, proposeHandles, readMailboxSettings } from './mailbox.ts';
export { createDnsLookUp, type LookUpDns } from './read-mail/look-up-dns.ts';
export { createMailReader, MAX_MAIL_BYTES, type MailReader, UnreadableMailError } from './read-mail/mail-reader.ts';
export { INBOUND_SECRET_HEADER, receiveMail, UndecidedMailError, verifyMailCall } from './receive-mail.ts';
export {
  listSuppressions,
  removeSuppression,
  type SuppressionRow,
  suppressAddress,
} from './suppression-store.ts';
