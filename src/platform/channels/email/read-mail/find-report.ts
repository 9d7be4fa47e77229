/** Reports that mail was not delivered (RFC 3464), or that somebody does not want it (RFC 5965). */
import type { Attachment, Email } from 'postal-mime';
import type { MailReport } from './protocol.ts';

const MAX_REPORT_CHARS = 100_000;
const MAX_DETAIL_CHARS = 500;
const MAX_ADDRESSES = 20;

/** Undefined: it is none, or it says that delivery is only late. */
export function findReport({ headers, attachments }: Pick<Email, 'headers' | 'attachments'>): MailReport | undefined {
  const type = headers.find(({ key }) => key === 'content-type')?.value ?? '';
  if (!/^\s*multipart\/report\b/i.test(type)) return undefined;
  const original = findPart(attachments, ['message/rfc822', 'text/rfc822-headers', 'message/rfc822-headers']);
  const about = /^message-id:\s*(<[^<>\s]{1,500}>)/im.exec(original ?? '')?.[1] ?? '';
  const complaint = findPart(attachments, ['message/feedback-report']);
  if (complaint !== undefined) return readComplaint(complaint, about);
  const status = findPart(attachments, ['message/delivery-status']);
  return status === undefined ? undefined : readBounce(status, about);
}

function readBounce(status: string, about: string): MailReport | undefined {
  const failed = status
    .split(/\r?\n\s*\r?\n/)
    .filter((fields) => /^action:\s*failed/im.test(fields) && /^status:\s*5\./im.test(fields));
  const addresses = failed.flatMap((fields) => readRecipient(fields, /^(?:final|original)-recipient:(.*)$/gim));
  if (addresses.length === 0) return undefined;
  const why = failed.map((fields) => /^diagnostic-code:\s*(.*)$/im.exec(fields)?.[1] ?? fieldOf(fields, 'status'));
  return { kind: 'bounce', addresses: unique(addresses), detail: cut(why.join(' ')), about };
}

function readComplaint(report: string, about: string): MailReport {
  const addresses = readRecipient(report, /^(?:original-rcpt-to|removal-recipient):(.*)$/gim);
  return { kind: 'complaint', addresses: unique(addresses), detail: cut(fieldOf(report, 'feedback-type')), about };
}

function readRecipient(fields: string, line: RegExp): string[] {
  return [...fields.matchAll(line)].flatMap(([, value = '']) => {
    const address = /([^\s<>;,]+@[^\s<>;,]+)/.exec(value)?.[1];
    return address === undefined ? [] : [address.toLowerCase()];
  });
}

function fieldOf(fields: string, name: string): string {
  return new RegExp(`^${name}:\\s*(.*)$`, 'im').exec(fields)?.[1] ?? '';
}

function findPart(parts: readonly Attachment[], types: readonly string[]): string | undefined {
  const part = parts.find(({ mimeType }) => types.includes(mimeType));
  if (part === undefined) return undefined;
  const { content } = part;
  return (typeof content === 'string' ? content : new TextDecoder().decode(content)).slice(0, MAX_REPORT_CHARS);
}

function unique(addresses: readonly string[]): string[] {
  return [...new Set(addresses)].slice(0, MAX_ADDRESSES);
}

function cut(text: string): string {
  return text.trim().slice(0, MAX_DETAIL_CHARS).toWellFormed();
}
