/** What a fake provider does in place of answering: what real ones do on bad days. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export type ProviderFault =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** Status 200 and no JSON. */
  | 'garbage'
  /** The connection is cut before any answer. */
  | 'cut'
  /** As `cut`, after the call has been carried out. */
  | 'cut after';

export interface ProviderFaults {
  /** For the next calls whose method and path match, one each. */
  failNext(pattern: RegExp, ...faults: ProviderFault[]): void;
  /** For all others. */
  misbehave(how: (request: IncomingMessage) => ProviderFault | undefined): void;
  /** The fault of this call; undefined where it is answered. */
  take(request: IncomingMessage): ProviderFault | undefined;
}

export function createFaults(): ProviderFaults {
  const waiting: { readonly pattern: RegExp; readonly faults: ProviderFault[] }[] = [];
  let misbehaviour: Parameters<ProviderFaults['misbehave']>[0] = () => undefined;
  return {
    failNext: (pattern, ...faults) => void waiting.push({ pattern, faults }),
    misbehave: (how) => {
      misbehaviour = how;
    },
    take(request) {
      const called = `${request.method} ${request.url}`;
      const found = waiting.find(({ pattern, faults }) => faults.length > 0 && pattern.test(called));
      return found === undefined ? misbehaviour(request) : found.faults.shift();
    },
  };
}

/** False where the call is to be carried out all the same. */
export function answerFault(fault: ProviderFault | undefined, response: ServerResponse): boolean {
  if (fault === undefined || fault === 'cut after') return false;
  if (fault === 'cut') response.destroy();
  else if (fault === 'garbage') response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Hello');
  else {
    response
      .writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
      .end(JSON.stringify(fault.body ?? {}));
  }
  return true;
}
