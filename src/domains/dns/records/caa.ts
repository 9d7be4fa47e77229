/** CAA, RFC 8659: who may issue certificates for the name. */
import { badRecord, shorten } from './bad-record.ts';
import { type RecordInput, readColumns, readNumber } from './record-input.ts';
import { quote } from './zone-text.ts';

export interface Caa {
  readonly flags: number;
  readonly tag: string;
  readonly value: string;
}

const LONGEST_VALUE = 1_024;
/** RFC 8659 4.2: an issuer's name or nothing, then parameters. */
const ISSUER = /^[ \t]*(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)?[ \t]*(?:;[ -~]*)?$/i;

export function readCaa(input: RecordInput): Caa {
  const [flags, tagWord, content] = readColumns(
    quoteContent(input),
    ['flags', 'tag', 'value'],
    '0 issue "ca.example.net"',
  );
  const tag = tagWord?.bytes.toLowerCase() ?? '';
  const value = content?.bytes ?? '';
  if (!/^[a-z0-9]{1,15}$/.test(tag)) {
    throw badRecord('tag', 'The tag has letters and digits only: issue, issuewild or iodef.');
  }
  if (value.length > LONGEST_VALUE || !/^[ -~]*$/.test(value)) {
    throw badRecord('value', `What the tag says is printable ASCII, up to ${LONGEST_VALUE} characters.`);
  }
  if ((tag === 'issue' || tag === 'issuewild') && !ISSUER.test(value)) {
    throw badRecord(
      'value',
      `"${shorten(value)}" names no issuer: send its domain, such as "ca.example.net", or ";" for none.`,
    );
  }
  if (tag === 'iodef' && !/^(?:mailto:|https?:\/\/)[^\s]+$/i.test(value)) {
    throw badRecord('value', 'Reports go to an address that begins with mailto:, https:// or http://.');
  }
  return { flags: readNumber(flags, 'flags', 255), tag, value };
}

export function writeCaa({ flags, tag, value }: Caa): string {
  return `${flags} ${tag} ${quote(value)}`;
}

/** With flags and tag beside it, the value is all of the content: its spaces need no quotes. */
function quoteContent(input: RecordInput): RecordInput {
  const isAlone = input.flags !== undefined && input.tag !== undefined;
  if (!isAlone || input.value.trimStart().startsWith('"') || /^\s*\d+\s+[a-z0-9]+\s+\S/i.test(input.value))
    return input;
  return { ...input, value: quote(Buffer.from(input.value, 'utf8').toString('latin1')) };
}
