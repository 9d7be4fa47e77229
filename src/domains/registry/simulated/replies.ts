/** What commands answer: results that stand, and refusals, which undo everything that the command did. */
import { resultMessages } from '../result-codes.ts';
import type { RefusalCode, Reply, SuccessCode } from './registry-core.ts';

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
    return { ok: true, code, message: resultMessages[code], svTRID, data };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, element, message: reason } = error;
    const refused = { ok: false, code, message: resultMessages[code], svTRID, reason } as const;
    return element === undefined ? refused : { ...refused, element };
  }
}
