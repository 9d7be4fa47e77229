/** A server's answer (RFC 5730 2.6), and what changed without a command (RFC 8590). */

import { isSuccess, type ResultCode, resultMessages } from '../../result-codes.ts';
import { EppFault } from '../epp-fault.ts';
import { CHANGE_POLL, EPP } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { findSubProductError } from './name-store.ts';
import { findTime, optional, readInteger, requireChild } from './values.ts';

export interface MessageQueue {
  readonly count: number;
  readonly id: string;
  /** Of the message that the answer carries; in other answers there is neither. */
  readonly queuedAt?: string | undefined;
  readonly text?: string | undefined;
}

export interface Response {
  readonly code: number;
  readonly message: string;
  readonly reason?: string | undefined;
  readonly queue?: MessageQueue | undefined;
  /** The element in `resData`. */
  readonly data?: XmlElement | undefined;
  readonly extensions: readonly XmlElement[];
  readonly clTRID?: string | undefined;
  readonly svTRID: string;
}

const epp = elementsOf(EPP);
const changePoll = elementsOf(CHANGE_POLL);

export function responseElement(response: Response): XmlElement {
  const { code, reason, queue, data, extensions } = response;
  return epp('epp', [
    epp('response', [
      epp(
        'result',
        [
          epp('msg', response.message),
          // Nothing of the command is repeated in the answer: its elements may hold passwords.
          reason === undefined ? undefined : epp('extValue', [epp('value', [epp('undef')]), epp('reason', reason)]),
        ],
        { code: String(code) },
      ),
      queue === undefined ? undefined : queueElement(queue),
      data === undefined ? undefined : epp('resData', [data]),
      extensions.length > 0 ? epp('extension', extensions) : undefined,
      epp('trID', transactionIdElements(response.clTRID, response.svTRID)),
    ]),
  ]);
}

function queueElement({ count, id, queuedAt, text }: MessageQueue): XmlElement {
  return epp('msgQ', [optional(EPP, 'qDate', queuedAt), optional(EPP, 'msg', text)], { count: String(count), id });
}

export function transactionIdElements(clTRID: string | undefined, svTRID: string): XmlElement[] {
  return [...(clTRID === undefined ? [] : [epp('clTRID', clTRID)]), epp('svTRID', svTRID)];
}

/** Throws `EppFault` for a document that is no answer. */
export function readResponse(root: XmlElement): Response {
  if (root.uri !== EPP || root.local !== 'epp') throw new EppFault(2001, `the root is ${root.local}, not epp`);
  const response = requireChild(root, 'response');
  const results = childrenOf(response, 'result');
  // Several results are all refusals (RFC 5730 2.6); the first says enough.
  const [result] = results;
  if (result === undefined) throw new EppFault(2003, 'the answer has no result');
  const code = readInteger(result.attributes.code ?? '', 'code', 1000, 2999);
  const transaction = findChild(response, 'trID');
  const queue = findChild(response, 'msgQ');
  const extensions = findChild(response, 'extension')?.children ?? [];
  return {
    code,
    message: findText(result, 'msg') ?? messageOf(code),
    reason: readReasons(results) ?? findSubProductError(extensions),
    queue: queue === undefined ? undefined : readQueue(queue),
    data: findChild(response, 'resData')?.children[0],
    extensions,
    clTRID: findText(transaction, 'clTRID'),
    svTRID: findText(transaction, 'svTRID') ?? '',
  };
}

function readReasons(results: readonly XmlElement[]): string | undefined {
  const reasons = results
    .flatMap((result) => childrenOf(result, 'extValue'))
    .flatMap((value) => findText(value, 'reason') ?? []);
  return reasons.length > 0 ? reasons.join('; ') : undefined;
}

function readQueue(queue: XmlElement): MessageQueue {
  const message = findChild(queue, 'msg');
  return {
    count: readCount(queue),
    id: queue.attributes.id ?? '',
    queuedAt: readQueuedAt(queue),
    // A message may hold elements of the registry's own.
    text: message === undefined ? undefined : allText(message).trim() || undefined,
  };
}

/** Not worth losing a message for. */
function readCount({ attributes: { count = '' } }: XmlElement): number {
  return /^\d{1,9}$/.test(count) ? Number(count) : 1;
}

/** Not worth losing a message for. */
function readQueuedAt(queue: XmlElement): string | undefined {
  const at = new Date(findText(queue, 'qDate') ?? '');
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

function allText({ text, children }: XmlElement): string {
  return [text, ...children.map(allText)].filter((part) => part !== '').join(' ');
}

/** The `resData` of that name; an `EppFault` where the answer has another or none. */
export function requireData(response: Response, uri: string, local: string): XmlElement {
  const { data } = response;
  if (data === undefined || data.uri !== uri || data.local !== local) {
    throw new EppFault(2003, `the answer has no ${local}`);
  }
  return data;
}

export function findData(response: Response, uri: string, local: string): XmlElement | undefined {
  const { data } = response;
  return data !== undefined && data.uri === uri && data.local === local ? data : undefined;
}

function messageOf(code: number): string {
  return isResultCode(code) ? resultMessages[code] : isSuccess(code) ? resultMessages[1000] : resultMessages[2400];
}

function isResultCode(code: number): code is ResultCode {
  return Object.hasOwn(resultMessages, code);
}

/** What the registry did to an object by itself. `detail` narrows the operation: `purge` of `delete`. */
export interface Change {
  readonly operation: string;
  readonly detail?: string | undefined;
  readonly at: string;
  readonly svTRID: string;
  readonly who: string;
}

export function changeElement(change: Change): XmlElement {
  const attributes = change.detail === undefined ? {} : { op: change.detail };
  return changePoll(
    'changeData',
    [
      changePoll('operation', change.operation, attributes),
      changePoll('date', change.at),
      changePoll('svTRID', change.svTRID),
      changePoll('who', change.who),
    ],
    { state: 'after' },
  );
}

export function findChange(extensions: readonly XmlElement[]): Change | undefined {
  const data = extensions.find(({ uri, local }) => uri === CHANGE_POLL && local === 'changeData');
  const operation = data === undefined ? undefined : findChild(data, 'operation');
  if (data === undefined || operation === undefined) return undefined;
  return {
    operation: operation.text.trim(),
    detail: operation.attributes.op,
    at: findTime(data, 'date') ?? '',
    svTRID: findText(data, 'svTRID') ?? '',
    who: findText(data, 'who') ?? '',
  };
}
