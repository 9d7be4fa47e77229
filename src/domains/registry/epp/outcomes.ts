/** What the registry's answers, and their absence, mean to callers of the port. */
import { type MutationOutcome, RegistryBusy, RegistryUnavailable, type RejectionCode } from '../registry.ts';
import { isSuccess } from '../result-codes.ts';
import { AnswerLost, CommandNotSent, TurnNotCome } from './client/errors.ts';
import type { Response } from './commands/response.ts';
import { EppFault } from './epp-fault.ts';
import { FrameError } from './frames.ts';
import { XmlError } from './xml/parse-xml.ts';

const rejections: Readonly<Record<number, RejectionCode>> = {
  2004: 'policy',
  2104: 'no_credit',
  2105: 'not_eligible',
  2106: 'not_eligible',
  2201: 'not_authorized',
  2202: 'bad_auth_code',
  2300: 'pending_transfer',
  2301: 'not_pending_transfer',
  2302: 'object_exists',
  2303: 'object_does_not_exist',
  2304: 'status_prohibits',
  2305: 'in_use',
  2306: 'policy',
  2308: 'policy',
};

/** The server failed internally: whether it carried the command out is not known. */
const UNKNOWN_CODES: readonly number[] = [2400, 2500];

interface Reading {
  /** Where a success tells it. */
  readonly expiresAt?: string | undefined;
  /** The registry's own, beside and before those of the standard. */
  readonly meanings: Readonly<Record<number, RejectionCode | 'unknown'>>;
}

export function outcomeOf(response: Response, { expiresAt, meanings }: Reading): MutationOutcome {
  const { code } = response;
  if (code === 1001) return { kind: 'pending' };
  if (isSuccess(code)) return expiresAt === undefined ? { kind: 'completed' } : { kind: 'completed', expiresAt };
  const reason = describeRefusal(response);
  const meaning = meanings[code] ?? (UNKNOWN_CODES.includes(code) ? 'unknown' : (rejections[code] ?? 'other'));
  return meaning === 'unknown'
    ? { kind: 'unknown', reason: `${code}: ${reason}` }
    : { kind: 'rejected', code: meaning, reason: `${code}: ${reason}` };
}

export function describeRefusal({ message, reason }: Response): string {
  return reason === undefined ? message : `${message}: ${reason}`;
}

/** By our side, for a reason that customers may read. */
export function rejected(code: RejectionCode, reason: string): MutationOutcome {
  const explanation = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
  return { kind: 'rejected', code, reason, explanation };
}

/** A mutation never throws for what the registry did, or did not do. */
export async function settle(work: () => Promise<MutationOutcome>): Promise<MutationOutcome> {
  try {
    return await work();
  } catch (error) {
    if (isUnsendable(error)) return rejected('other', `not sent: ${error.message}`);
    if (error instanceof TurnNotCome) return { kind: 'unknown', reason: `not sent: ${error.message}`, isUnsent: true };
    if (error instanceof CommandNotSent) return { kind: 'unknown', reason: `not sent: ${error.message}` };
    if (!isRegistryError(error)) throw error;
    return { kind: 'unknown', reason: error.message };
  }
}

/** A read throws `RegistryUnavailable` alone. */
export async function read<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    // What it asks about was the registry's to name.
    if (isUnsendable(error)) throw new RegistryUnavailable(`not asked: ${error.message}`, error);
    if (error instanceof RegistryUnavailable || !isRegistryError(error)) throw error;
    throw error instanceof TurnNotCome
      ? new RegistryBusy(error.message, error)
      : new RegistryUnavailable(error.message, error);
  }
}

/** A command holds what none can carry: it never left. */
export function isUnsendable(error: unknown): error is XmlError | FrameError {
  return error instanceof XmlError || error instanceof FrameError;
}

/** No answer, or one that cannot be understood. Anything else is a bug of ours and is not hidden. */
export function isRegistryError(error: unknown): error is Error {
  return [CommandNotSent, AnswerLost, EppFault, RegistryUnavailable].some((kind) => error instanceof kind);
}

/** For reads whose answer is a refusal. */
export function refusalOf(response: Response): RegistryUnavailable {
  return new RegistryUnavailable(`the registry answered ${response.code}: ${describeRefusal(response)}`);
}
