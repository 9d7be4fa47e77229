/** Which codes of success answer a command (RFC 5730 3): some are those of one command alone. */
import { isDone, isSuccess } from '../../result-codes.ts';
import { EppFault } from '../epp-fault.ts';
import type { EppCommand } from './command.ts';

/**
 * Throws `EppFault` where a command that changes something, or a login, is answered with a success that is not its own: whether it was carried out
 * is not known then. What a query has found is in its data, whatever the code.
 */
export function requireOwnCode(command: EppCommand, code: number): void {
  if (isSuccess(code) && !isDone(code) && !takesOthers(command))
    throw new EppFault(2004, `${code} is no answer to ${command.kind}`);
}

function takesOthers(command: EppCommand): boolean {
  switch (command.kind) {
    case 'poll':
    case 'logout':
    case 'balance:info':
    case 'domain:check':
    case 'domain:info':
    case 'contact:check':
    case 'contact:info':
    case 'host:check':
    case 'host:info':
      return true;
    case 'domain:transfer':
    case 'domain:trade':
      return command.operation === 'query';
    default:
      return false;
  }
}
