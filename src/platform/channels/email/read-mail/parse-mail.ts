/** What a mail says, out of its bytes (RFC 5322, MIME). */
import { htmlToText } from 'html-to-text';
import PostalMime, { type Address, type Attachment, addressParser, type Email } from 'postal-mime';
import { findAutomation } from './find-automation.ts';
import { findReport } from './find-report.ts';
import type { MailFile, ReadMail } from './protocol.ts';

/** Mail that cannot be read; the message is for whoever sent it. */
export class MailError extends Error {
  override readonly name = 'MailError';
}

const MAX_NESTING = 30;
const MAX_HEADER_BYTES = 262_144;
const MAX_FILES = 100;
const MAX_TEXT_CHARS = 90_000;
const MAX_HTML_CHARS = 2_000_000;
const MAX_HTML_DEPTH = 200;
const MAX_SUBJECT_CHARS = 500;
const MAX_FILENAME_CHARS = 200;
const MAX_RECIPIENTS = 100;
const MAX_REFERENCES = 50;
const MAX_ID_CHARS = 500;

/** Throws `MailError`. */
export async function parseMail(raw: Uint8Array): Promise<Omit<ReadMail, 'authentication'>> {
  const email = await parse(raw);
  const files = email.attachments.map(toFile);
  if (files.length > MAX_FILES) throw new MailError(`The mail has more than ${MAX_FILES} files. Send fewer.`);
  const header = (name: string) => email.headers.find(({ key }) => key === name)?.value ?? '';
  return {
    from: listAddresses(email.from === undefined ? [] : [email.from])[0] ?? '',
    to: listAddresses([...(email.to ?? []), ...(email.cc ?? [])]),
    deliveredTo: ['delivered-to', 'x-original-to', 'envelope-to'].flatMap((name) =>
      listAddresses(addressParser(header(name))),
    ),
    subject: oneLine(email.subject ?? '')
      .slice(0, MAX_SUBJECT_CHARS)
      .toWellFormed(),
    date: oneLine(email.date ?? '').slice(0, 100),
    messageId: findIds(email.messageId)[0] ?? '',
    references: [...new Set([...findIds(email.references), ...findIds(email.inReplyTo)])].slice(-MAX_REFERENCES),
    text: cutText(readText(email)),
    files,
    automatic: findAutomation(email),
    report: findReport(email),
  };
}

async function parse(raw: Uint8Array): Promise<Email> {
  try {
    return await PostalMime.parse(raw, {
      maxNestingDepth: MAX_NESTING,
      maxHeadersSize: MAX_HEADER_BYTES,
      // A mail within a mail is a file: nobody knows who wrote it.
      forceRfc822Attachments: true,
    });
  } catch (error) {
    throw new MailError('The mail cannot be read: its parts are nested too deeply, or its headers have no end.', {
      cause: error,
    });
  }
}

function readText({ text, html }: Email): string {
  if (text !== undefined && text.trim() !== '') return text;
  if (html === undefined) return '';
  return htmlToText(html, {
    wordwrap: false,
    limits: { maxInputLength: MAX_HTML_CHARS, maxDepth: MAX_HTML_DEPTH },
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    ],
  });
}

function cutText(text: string): string {
  const clean = text.replaceAll('\r\n', '\n').replaceAll('\0', '').trim().toWellFormed();
  if (clean.length <= MAX_TEXT_CHARS) return clean;
  return `${clean.slice(0, MAX_TEXT_CHARS).toWellFormed()}\n\n[The rest of the mail is left out: it has ${clean.length} characters.]`;
}

function listAddresses(addresses: readonly Address[]): string[] {
  return addresses
    .flatMap(({ address, group }) => (group === undefined ? [address] : group.map((member) => member.address)))
    .map((address) => (address ?? '').trim().toLowerCase())
    .filter((address) => /^[^\s@<>,;]+@[^\s@<>,;]+$/.test(address))
    .slice(0, MAX_RECIPIENTS);
}

function findIds(value: string | undefined): string[] {
  return (value?.match(/<[^<>\s]+>/g) ?? []).filter((id) => id.length <= MAX_ID_CHARS);
}

function toFile({ filename, mimeType, content }: Attachment, index: number): MailFile {
  const name = oneLine(filename ?? '')
    .slice(-MAX_FILENAME_CHARS)
    .toWellFormed();
  return {
    filename: name === '' ? `file-${index + 1}` : name,
    mediaType: mimeType.slice(0, 200),
    content: typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content),
  };
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what no line has.
  return text.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ').trim();
}
