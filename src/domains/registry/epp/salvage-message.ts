/** A message whose answer cannot be read: what can be found of it is for the operator, and its id lets those behind it be read. */
import type { RegistryMessage } from '../registry.ts';
import type { UnreadableAnswer } from './client/errors.ts';
import { isAttribute } from './xml/write-xml.ts';

/** Of the answer, for the operator. */
const MAX_SHOWN = 4_000;

/** Undefined: not even its id is to be found, or none that a command could hold. */
export function salvageMessage({ bytes, reason }: UnreadableAnswer): RegistryMessage | undefined {
  const xml = new TextDecoder().decode(bytes);
  const [queue = ''] = /<(?:[\w.-]+:)?msgQ\s[^<>]*>/.exec(xml) ?? [];
  const [, quoted = '', single = ''] = /\sid\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(queue) ?? [];
  const id = plain(quoted === '' ? single : quoted);
  if (id === '' || !isAttribute(id)) return undefined;
  const [, queuedAt = ''] = /<(?:[\w.-]+:)?qDate>([^<]*)</.exec(xml) ?? [];
  return { id, queuedAt: timeOf(queuedAt), name: '', kind: 'unreadable', text: `${reason}: ${shown(xml)}` };
}

/** Without secrets, and without what differs each time that the message is asked for. */
function shown(xml: string): string {
  return xml
    .replaceAll(/(<(?:[\w.-]+:)?pw\b[^<>]*>)[^<]*/g, '$1…')
    .replaceAll(/(<(?:[\w.-]+:)?(?:cl|sv)TRID>)[^<]*/g, '$1…')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .slice(0, MAX_SHOWN);
}

function timeOf(text: string): string {
  const at = new Date(text.trim());
  return (Number.isNaN(at.getTime()) ? new Date(0) : at).toISOString();
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function plain(attribute: string): string {
  return attribute.replaceAll(/&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\da-fA-F]{1,6}));/g, (_, name, decimal, hex) =>
    name === undefined
      ? characterOf(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
      : (ENTITIES[name] ?? ''),
  );
}

/** One that there is not is one that XML does not carry. */
function characterOf(code: number): string {
  return code > 0x10_ff_ff ? '\uffff' : String.fromCodePoint(code);
}
