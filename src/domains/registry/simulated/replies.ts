/** What commands answer: results that stand, and refusals, which undo everything that the command did. */
import type { RefusalCode, Reply, SuccessCode } from './registry-core.ts';

/** RFC 5730 3, word for word. */
const messages: Record<SuccessCode | RefusalCode, string> = {
  1000: 'Command completed successfully',
  1001: 'Command completed successfully; action pending',
  1300: 'Command completed successfully; no messages',
  1301: 'Command completed successfully; ack to dequeue',
  2003: 'Required parameter missing',
  2004: 'Parameter value range error',
  2005: 'Parameter value syntax error',
  2102: 'Unimplemented option',
  2105: 'Object is not eligible for renewal',
  2106: 'Object is not eligible for transfer',
  2200: 'Authentication error',
  2201: 'Authorization error',
  2202: 'Invalid authorization information',
  2300: 'Object pending transfer',
  2301: 'Object not pending transfer',
  2302: 'Object exists',
  2303: 'Object does not exist',
  2304: 'Object status prohibits operation',
  2305: 'Object association prohibits operation',
  2306: 'Parameter value policy error',
};

export interface Result<Data> {
  readonly code: SuccessCode;
  readonly data: Data;
}

export function completed<Data>(data: Data): Result<Data> {
  return { code: 1000, data };
}

export function pending<Data>(data: Data): Result<Data> {
  return { code: 1001, data };
}

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly element: string | undefined;

  constructor(code: RefusalCode, reason: string, element?: string) {
    super(reason);
    this.name = 'Refusal';
    this.code = code;
    this.element = element;
  }
}

/** Runs a command and says how it ended; other errors than refusals are the store's, and pass. */
export async function answer<Data>(svTRID: string, work: () => Promise<Result<Data>>): Promise<Reply<Data>> {
  try {
    const { code, data } = await work();
    return { ok: true, code, message: messages[code], svTRID, data };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, element, message: reason } = error;
    const refused = { ok: false, code, message: messages[code], svTRID, reason } as const;
    return element === undefined ? refused : { ...refused, element };
  }
}
